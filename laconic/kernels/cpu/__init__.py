"""The kernels for CPUs, compiled by numba: serial loops over addresses, without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from laconic.kernels.cpu import half, pack, quantize, select, sign

KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        half.copy_finite,
        half.half_add,
        half.to_half,
        pack.pack,
        pack.unpack,
        quantize.dequantize,
        quantize.dequantize_add,
        quantize.quantize,
        quantize.quantize_keep,
        quantize.quantize_to,
        select.above,
        select.largest,
        select.scatter_add,
        select.select,
        select.select_keep,
        sign.sign_add,
        sign.sign_keep,
        sign.sign_pack,
        sign.sign_unpack,
    )
}


def check() -> None:
    """Builds, or loads, one kernel."""
    pack.pack_chunks.load()

"""The kernels for CPUs, compiled by numba: serial loops over addresses, without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from laconic.kernels.cpu import (
    half,
    lowrank,
    merge,
    natural,
    pack,
    quantize,
    rising,
    select,
    sign,
    subset,
    sums,
    sweep,
    trits,
    words,
)

KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        half.half_add,
        half.to_half,
        lowrank.across,
        lowrank.along,
        lowrank.along_keep,
        lowrank.orthonormal,
        lowrank.rebuilt,
        lowrank.rebuilt_keep,
        merge.merge,
        natural.natural_add,
        natural.natural_pack,
        natural.natural_unpack,
        pack.pack,
        pack.unpack,
        quantize.dequantize,
        quantize.dequantize_add,
        quantize.quantize,
        quantize.quantize_keep,
        quantize.quantize_to,
        quantize.scales,
        rising.rising_pack,
        rising.rising_unpack,
        select.above,
        select.largest,
        select.scatter_add,
        select.select,
        select.select_keep,
        select.within,
        sign.sign_add,
        sign.sign_keep,
        sign.sign_pack,
        sign.sign_unpack,
        subset.subset,
        sums.abs_sums,
        sums.square_sums,
        sweep.add_finite,
        sweep.copy_finite,
        sweep.way_finite,
        sweep.zeros,
        trits.nearest_trits,
        trits.restore_zero_runs,
        trits.shorten_zero_runs,
        trits.ternary,
        trits.ternary_add,
        trits.ternary_unpack,
        words.join_lanes,
        words.split_lanes,
    )
}


def check() -> None:
    """Builds, or loads, one kernel."""
    pack.pack_chunks.load()

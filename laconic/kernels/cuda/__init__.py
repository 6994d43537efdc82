"""The core kernels for NVIDIA cards, in Triton: quantize + pack, unpack + accumulate, sign pack, threshold, scatter.

Triton comes with torch's CUDA builds. Layouts, random numbers and roundings are those of the reference, bit for bit,
but for the mean magnitude of a block of signs: a card adds it up in another order, which may move its last bit. What is
not here (odd widths, top-k, Rice codes) runs in plain torch, on the card. Tested in Triton's interpreter, on the CPU;
speed on a card has not been measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from laconic.core.errors import KernelError
from laconic.kernels.cuda import quantize, sign, sparse

KERNELS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        quantize.dequantize,
        quantize.dequantize_add,
        quantize.quantize,
        quantize.quantize_to,
        sign.sign_add,
        sign.sign_pack,
        sign.sign_unpack,
        sparse.above,
        sparse.scatter_add,
    )
}


def check() -> None:
    """Runs one kernel on the card."""
    if not torch.cuda.is_available():
        raise KernelError("there is no GPU")
    one = torch.zeros(1, device="cuda")
    sparse.scatter_add(one, one.to(torch.int32), one, 1.0)

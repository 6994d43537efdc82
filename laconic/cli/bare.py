"""Kernels by themselves, for `laconic bench kernels`: those that belong to no compressor's default setting."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from laconic import kernels
from laconic.cli.jobs import Job, Make
from laconic.core.rng import Stream

_STREAM = Stream(1)


def ternary_2(x: Tensor) -> Job:
    """2 bits, one scale for everything."""
    scale, n = _scale(x), x.numel()
    packed, total = _bytes(-(-n // 4)), torch.zeros(n)
    return _job(
        lambda: kernels.quantize_to(x, scale, packed, _STREAM, 2, n),
        lambda: kernels.dequantize_add(total, scale, packed, 2, n, 0.5),
        n,
        packed.numel(),
    )


def ternary_base_3(x: Tensor) -> Job:
    """1.6 bits, one scale for everything."""
    scale, n = _scale(x), x.numel()
    packed, total = _bytes(kernels.trit_bytes(n)), torch.zeros(n)
    return _job(
        lambda: kernels.ternary(x, scale, packed, _STREAM, n),
        lambda: kernels.ternary_add(total, scale, packed, n, 0.5),
        n,
        packed.numel(),
    )


def natural_9(x: Tensor) -> Job:
    """Exponents and a plane of signs."""
    n = x.numel()
    exponent, signs, total = _bytes(n), _bytes(-(-n // 8)), torch.zeros(n)
    return _job(
        lambda: kernels.natural_pack(x, exponent, signs, _STREAM),
        lambda: kernels.natural_add(total, exponent, signs, 0.5),
        n,
        exponent.numel() + signs.numel(),
    )


BARE: dict[str, Make] = {
    "kernel: ternary, 2 bits": ternary_2,
    "kernel: ternary, base 3": ternary_base_3,
    "kernel: natural, 9 bits": natural_9,
}


def _scale(x: Tensor) -> Tensor:
    return 2.5 * x.std(correction=0).reshape(1)


def _bytes(n: int) -> Tensor:
    return torch.zeros(n, dtype=torch.uint8)


def _job(encode: Callable[[], object], add: Callable[[], object], n: int, size: int) -> Job:
    encode()
    return Job(encode, 4 * n + size, add, 8 * n + size, size)

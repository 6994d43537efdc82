"""Holding compiled kernels to the reference: the same bits, on sizes and values chosen to hurt."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from laconic.core.rng import Stream
from tests.zoo import noise

SIZES = (0, 1, 7, 8, 9, 31, 33, 255, 256, 257, 511, 512, 513, 1025, 5003, 70_001)
STREAM = Stream(0xFEDC_BA98_7654_3210)


def same_bits(a: Tensor, b: Tensor) -> bool:
    """Every bit, but any NaN is as good as another."""
    if not a.is_floating_point():
        return torch.equal(a, b)
    kind = {2: torch.int16, 4: torch.int32, 8: torch.int64}[a.element_size()]
    nan = a.isnan()
    if not torch.equal(nan, b.isnan()):
        return False
    return torch.equal(a.view(kind).masked_fill(nan, 0), b.view(kind).masked_fill(nan, 0))


def vectors(n: int) -> Iterator[tuple[str, Tensor]]:
    """Ordinary, tiny, huge, mixed, with zeros of both signs, with what is not finite."""
    yield "normal", noise(n, 1)
    if n in (0, 1, 512, 5003):
        yield "subnormal", noise(n, 2) * 1e-41
        yield "huge", noise(n, 3).clamp(-3, 3) * 1e38
        yield "of all sizes", noise(n, 4) * torch.pow(10.0, noise(n, 5) * 12)
        yield "zeros", torch.zeros(n)
        mixed = noise(n, 6)
        mixed[::3], mixed[1::5] = 0.0, -0.0
        yield "zeros of both signs", mixed
        broken = noise(n, 7)
        broken[n // 2 :: 700] = torch.nan
        broken[n // 3 :: 900] = -torch.inf
        yield "not finite", broken

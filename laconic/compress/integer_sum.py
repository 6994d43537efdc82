"""Codes on one grid for all ranks are whole numbers, and their sum is taken on the way: nothing is rounded twice.

    M = the largest of everyone's scale;   k_i = s x_i / M rounded by chance;   mean = M/(s n) sum_i k_i, exactly

A code k + s is between 0 and h = 2s, its sum over n ranks at most hn: that needs w = bits(hn) bits. floor(64/w) such
sums fit one 64-bit word, words are added by an ordinary all-reduce, and no lane ever reaches its neighbour. So the sum
always fits, whatever the number of ranks; it only takes more bits: three levels (h = 2) need 2, 3.05, 4, 5.33 bits
an element among 1, 2, 4, 8 ranks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, as_float32, back_to
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Max, Sum, Turn
from laconic.kernels import reference_quant as quant


class AbstractIntegerSum(AbstractCompressor, ABC):
    """Concrete classes say how many levels there are, and which elements share a scale."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """s: levels above zero."""

    @abstractmethod
    def groups(self, spec: BucketSpec) -> tuple[int, ...]:
        """How many consecutive elements share each scale."""

    @abstractmethod
    def prepared(self, x: Tensor, spec: BucketSpec) -> tuple[Tensor, Tensor]:
        """What is to be rounded, and its own scales, one a group."""

    @property
    def spares_small(self) -> bool:
        return True

    def payload_bits(self, spec: BucketSpec) -> int:
        return 8 * self.sum_bytes(spec, 1)

    def sum_bytes(self, spec: BucketSpec, world: int) -> int:
        """Scales and words that are joined on the way."""
        return 4 * len(self.groups(spec)) + lane_bytes(spec.numel, 2 * self.steps, world)

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        ready, own_scale = self.prepared(as_float32(x), spec)
        scale = await Max(own_scale.clone())
        sizes = torch.tensor(self.groups(spec), device=x.device, dtype=torch.int64)
        each = scale.repeat_interleave(sizes, output_size=spec.numel)
        s = self.steps
        a = ready / quant.divisor(each) * s
        k = quant.by_chance(a, turn.own(spec).uniform(spec.numel, x.device)).clamp_(-s, s).to(torch.int64)
        total = await total_of(k + s, 2 * s, turn) - s * turn.world
        mean = total.to(torch.float32) / (s * turn.world) * each
        return Exchanged(back_to(x.dtype, mean), back_to(x.dtype, k.to(torch.float32) / s * each), state)


async def total_of(codes: Tensor, high: int, turn: Turn) -> Tensor:
    """The sum over all ranks of codes in 0 .. high, int64.

    The top lane is shifted by about half of `high`, so that no partial sum of words leaves the signed range.
    """
    most = high * turn.world
    words = await Sum(quant.join_lanes(codes, most, (high + 1 - turn.rank % 2) // 2))
    return quant.split_lanes(words, most, (most + 1) // 2, codes.numel())


def lane_bytes(numel: int, high: int, world: int) -> int:
    return 8 * -(-numel // quant.lanes_of(high * world))

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

from laconic import kernels as kernel
from laconic.compress.base import AbstractCompressor, as_float32, back_to
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Max, Sum, Turn
from laconic.core.rng import Stream


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

    @abstractmethod
    def rounded(self, ready: Tensor, scale: Tensor, spec: BucketSpec, stream: Stream) -> Tensor:
        """Codes k + s, uint8, by everyone's scales."""

    @abstractmethod
    def times(self, values: Tensor, scale: Tensor, spec: BucketSpec) -> Tensor:
        """Each value times the scale of its group."""

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        ready, own_scale = self.prepared(as_float32(x), spec)
        scale = await Max(own_scale.clone())
        s = self.steps
        codes = self.rounded(ready, scale, spec, turn.own(spec))
        total = await total_of(codes, 2 * s, turn)
        mean = self.times((total - s * turn.world).to(torch.float32).div_(s * turn.world), scale, spec)

        def sent() -> Tensor:
            return back_to(x.dtype, self.times((codes.to(torch.float32) - s).div_(s), scale, spec))

        return Exchanged(back_to(x.dtype, mean), sent, state)


async def total_of(codes: Tensor, high: int, turn: Turn) -> Tensor:
    """The sum over all ranks of codes in 0 .. high, int32.

    The top lane is shifted by about half of `high`, so that no partial sum of words leaves the signed range.
    """
    most = high * turn.world
    words = await Sum(kernel.join_lanes(codes.to(torch.uint8), most, (high + 1 - turn.rank % 2) // 2))
    return kernel.split_lanes(words, most, (most + 1) // 2, codes.numel())


def lane_bytes(numel: int, high: int, world: int) -> int:
    return 8 * -(-numel // kernel.lanes_of(high * world))

"""No compression: the update itself is averaged.

C(x) = x
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, Traits
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Collect, Exchanged, Gather, Mean, Scatter, Sum, Turn


@dataclass(frozen=True)
class Identity(AbstractCompressor):
    """Send everything as it is; lossless."""

    name: ClassVar[str] = "none"

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(unbiased=True, omega=0.0, delta=1.0, linear=True)

    def payload_bits(self, spec: BucketSpec) -> int:
        return 8 * spec.nbytes

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        return Exchanged(await Mean(x.clone()), x, state)


async def average(x: Tensor) -> Exchanged:
    """The same for a caller that gives x away: one copy less."""
    mean = await Mean(x)
    return Exchanged(mean, mean, ())


async def add_up(share: Tensor, *, gather: bool = False) -> Exchanged:
    """The same for a caller that has divided already, and gives its share away. `gather`: everyone adds up alone."""
    mean = await _total(share, gather=gather)
    return Exchanged(mean, mean, ())


async def carry(share: Tensor, numel: int, *, gather: bool = False) -> Exchanged:
    """The same; what stands behind the first `numel` elements is added up with them, and comes back as the state."""
    total = await _total(share, gather=gather)
    return Exchanged(total[:numel], total[:numel], total[numel:])


async def _total(share: Tensor, *, gather: bool) -> Tensor:
    if not gather:
        return await Sum(share)
    messages = await Gather(share.view(torch.uint8))
    share.zero_()
    for message in messages:  # in rank order, the same on every rank
        share += message.clone().view(share.dtype)  # a clone is aligned
    return share


async def add_up_in_halves(share: Tensor) -> Exchanged:
    """The same in two rounds that may stand far apart: everyone adds up a share, then shares are collected."""
    mean = await Collect(await Scatter(share))
    return Exchanged(mean, mean, ())

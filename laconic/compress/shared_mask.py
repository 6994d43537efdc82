"""Elements that every rank derives from shared randomness: only values travel, and they are averaged on the way.

    C(x)_i = s x_i  if i in S_t  else 0,     S_t the same on every rank, drawn anew every step

S_t comes from (seed, step, bucket), so neither indices nor a seed are sent.
"""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

from torch import Tensor

from laconic.compress.base import AbstractCompressor, AbstractSelector, Draw, as_float32, clip
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Mean, Turn


class AbstractSharedMask(AbstractCompressor, AbstractSelector, ABC):
    """Concrete classes write `count`, `select`, `scale` and `traits`."""

    travels: ClassVar[bool] = False

    @property
    def spares_small(self) -> bool:
        return True

    def payload_bits(self, spec: BucketSpec) -> int:
        return 32 * self.count(spec.numel)

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        at = self.select(x, Draw(turn.own(spec), turn.shared(spec)))
        scale = self.scale(spec.numel)
        values = as_float32(x[at])
        sent = x.new_zeros(spec.numel).index_copy_(0, at, clip(values * scale, x.dtype))
        mean = await Mean(values)
        return Exchanged(x.new_zeros(spec.numel).index_copy_(0, at, clip(mean * scale, x.dtype)), sent, state)

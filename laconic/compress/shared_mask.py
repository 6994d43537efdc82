"""Elements that every rank derives from shared randomness: only values travel, and they are averaged on the way.

    C(x)_i = s x_i  if i in S_t  else 0,     S_t the same on every rank, drawn anew every step

S_t comes from (seed, step, bucket), so neither indices nor a seed are sent.
"""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, AbstractSelector, Draw, as_float32, clip
from laconic.core import memory
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
        at = self._choice(x, spec, turn)
        said = self._scaled(x[at], x)
        return Exchanged(await self._mean(x, at), lambda: _dense(x, at, said), state)

    async def remember(
        self, x: Tensor, residual: Tensor, damping: float, state: Any, spec: BucketSpec, turn: Turn
    ) -> tuple[Exchanged, Tensor]:
        p = torch.add(residual, x, out=memory.empty(x.numel(), residual.dtype, residual.device))
        at = self._choice(p, spec, turn)
        said = damping * self._scaled(p[at], p)
        mean = (await self._mean(p, at)).mul_(damping)
        p[at] -= said
        return Exchanged(mean, lambda: _dense(p, at, said), state), p

    def _choice(self, x: Tensor, spec: BucketSpec, turn: Turn) -> Tensor:
        return self.select(x, Draw(turn.own(spec), turn.shared(spec)))

    def _scaled(self, values: Tensor, x: Tensor) -> Tensor:
        return clip(as_float32(values) * self.scale(x.numel()), x.dtype)

    async def _mean(self, x: Tensor, at: Tensor) -> Tensor:
        return _dense(x, at, self._scaled(await Mean(as_float32(x[at])), x))


def _dense(like: Tensor, at: Tensor, values: Tensor) -> Tensor:
    dense = memory.empty(like.numel(), like.dtype, like.device).zero_()
    return dense.index_copy_(0, at, values)

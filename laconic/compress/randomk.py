"""Random-k: k coordinates chosen by shared randomness, scaled so that the mean is right.

    C(x)_i = (n/k) x_i  if i in S_t  else 0,     S_t uniform over k-subsets, the same on every rank

Konecny et al., 2016, arXiv:1610.05492; Stich, Cordonnier, Jaggi, NeurIPS 2018, arXiv:1809.07599. Only
values travel (every rank derives S_t) and they are averaged on the way. Inside `ef(...)` it is damped by
k/n, which is exactly Stich's random-k with memory: the unscaled mask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import AbstractCompressor, AbstractSelector, Draw, Grain, Traits, as_float32, clip, kept
from laconic.compress.sparse import check_ratio
from laconic.core import memory
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Mean, Turn


@dataclass(frozen=True)
class RandomK(AbstractCompressor, AbstractSelector):
    """Keep random elements, the same on every rank, without sending indices."""

    ratio: float = 0.01

    name: ClassVar[str] = "randomk"
    paper: ClassVar[str] = "stich2018sparsified"
    travels: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_ratio(self)

    def traits(self, spec: BucketSpec) -> Traits:
        omega = max(1, spec.numel) / max(1, self.count(spec.numel)) - 1
        return Traits(unbiased=True, omega=omega, delta=None, linear=True, grain=Grain.BUCKET)

    @property
    def spares_small(self) -> bool:
        return True

    def payload_bits(self, spec: BucketSpec) -> int:
        return 32 * self.count(spec.numel)

    def count(self, numel: int) -> int:
        return kept(self.ratio, numel)

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        return kernel.subset(x, draw.shared, self.count(x.numel()))

    def scale(self, numel: int) -> float:
        return numel / max(1, self.count(numel))

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
    return memory.empty(like.numel(), like.dtype, like.device).zero_().index_copy_(0, at, values)

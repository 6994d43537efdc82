"""Deep gradient compression: momentum is corrected for delay, then the largest sums are said.

    x <- x min(1, clip / (sqrt(ranks) |x|));   u <- m u + x,   v <- v + u
    say v_i where |v_i| >= t;   there  v_i <- 0  and, by factor masking,  u_i <- 0

t is the ceil(ratio s)-th largest of every j-th element, s of them (1%, but at least 16/ratio): lowered by 0.8 up to
ten times while fewer than 0.8 k elements reach it; where more than 1.3 k do, the k largest of those are said. Lin,
Han, Mao, Wang, Dally, ICLR 2018, arXiv:1712.01887, with the resets and the masking that surveys leave out. It keeps
its own memory (u, v): do not wrap it in `ef(...)`; the optimizer must have momentum 0 (`distribute` refuses another),
and small tensors that travel dense get plain momentum. Without masking
(`mask=none`) and with ratio=1 it is momentum SGD; with masking and ratio=1 it is plain SGD: use ordinary momentum
while training is dense. Differs: sums are taken over a bucket; the clipping norm too (the authors clip each tensor).
Nesterov's form and the warm-up of the ratio are not part of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, Draw, Traits, back_to, kept, wide
from laconic.compress.graddrop import sampled
from laconic.compress.identity import Identity
from laconic.compress.momentum import Momentum
from laconic.compress.one_shot import Owned
from laconic.compress.selected import AbstractSelected
from laconic.compress.sparse import check_ratio
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Seat, Turn
from laconic.kernels import reference_sparse as kernel

_SAMPLE = 0.01
_LOWERINGS = 10


class Corrected(NamedTuple):
    error: Tensor
    damping: Tensor
    velocity: Tensor  # u
    residual: Tensor  # v


@dataclass(frozen=True)
class DGC(AbstractSelected):
    """Say the largest sums of corrected momentum; remembers the rest."""

    ratio: float = 0.001
    momentum: float = 0.9
    clip: float = 0.0  # 0: off
    mask: str = "factor"

    name: ClassVar[str] = "dgc"
    paper: ClassVar[str] = "lin2018deep"

    def __post_init__(self) -> None:
        check_ratio(self)
        if not 0 <= self.momentum < 1:
            raise PlanError(f"dgc(momentum={self.momentum!r}): momentum is at least 0 and below 1, for example 0.9.")
        if not 0 <= self.clip < math.inf:
            raise PlanError(f"dgc(clip={self.clip!r}): the largest norm of the summed gradient, or 0 for no clipping.")
        if self.mask not in ("factor", "none"):
            raise PlanError(f"dgc(mask={self.mask!r}): factor masking is on ('factor') or off ('none').")

    @property
    def owns_momentum(self) -> bool:
        return self.momentum > 0

    @property
    def lossless(self) -> AbstractCompressor | None:
        return Momentum(Identity(), self.momentum) if self.owns_momentum else None

    def traits(self, spec: BucketSpec) -> Traits:
        return replace(super().traits(spec), remembers=True)

    def count(self, numel: int) -> int:
        k = kept(self.ratio, numel)
        return min(numel, max(k, int(1.3 * k)))

    def _stride(self, numel: int) -> int:
        return max(1, numel // max(1, sampled(numel, self.ratio, _SAMPLE)))

    def least(self, numel: int) -> int:
        return kept(self.ratio, numel // self._stride(numel))

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        k, stride = kept(self.ratio, x.numel()), self._stride(x.numel())
        if stride == 1:
            return kernel.largest_nonzero(x, k)
        sample = x[int(draw.own.words(1)) % stride :: stride]
        threshold = kernel.kth_size(sample, kept(self.ratio, sample.numel()))
        at = kernel.at_least(x, threshold)
        for _ in range(_LOWERINGS):
            if at.numel() >= 0.8 * k:
                break
            threshold *= 0.8
            at = kernel.at_least(x, threshold)
        return at if at.numel() <= self.count(x.numel()) else kernel.largest_among(x, at, k)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Corrected:
        owned = super().init(spec, seat, remember=True)
        u, v = torch.zeros(2, spec.numel, dtype=wide(spec).dtype, device=seat.device)
        return Corrected(owned.error, owned.damping, u, v)

    async def exchange(self, x: Tensor, state: Corrected, spec: BucketSpec, turn: Turn) -> Exchanged:
        u = self.momentum * state.velocity + self._clipped(x.to(state.velocity.dtype), turn.world)
        v = state.residual + u
        out = await super().exchange(v, Owned(state.error, state.damping), wide(spec), turn)
        if self.mask == "factor":
            u = torch.where(out.sent != 0, 0.0, u)
        kept_ = Corrected(out.state.error, out.state.damping, u, v - out.sent)
        return Exchanged(back_to(x.dtype, out.mean), lambda: back_to(x.dtype, out.sent), kept_)

    def _clipped(self, x: Tensor, world: int) -> Tensor:
        if not self.clip:
            return x
        norm = float(torch.linalg.vector_norm(x, dtype=torch.float64))
        most = self.clip / math.sqrt(world)
        return x * (most / norm) if norm > most else x

"""Signum: majority vote on the signs of each rank's momentum.

    m_i <- beta m_i + (1 - beta) x_i;    update = sgn( sum_i sgn(m_i) )

Bernstein, Wang, Azizzadenesheli, Anandkumar, ICML 2018, arXiv:1802.04434. m starts at zero; signs do not see the
factor 1 - beta. Keeps a momentum, not an error (survey errata 001.8): the optimizer's own must be 0 (`distribute`
refuses another); let it do the weight decay. Small tensors that travel dense get plain momentum. beta = 0 is
`majority`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, Traits, as_float32, back_to
from laconic.compress.identity import Identity
from laconic.compress.majority import Majority
from laconic.compress.momentum import Momentum
from laconic.compress.one_shot import Owned
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Seat, Turn


class Moving(NamedTuple):
    m: Tensor
    inner: Owned


@dataclass(frozen=True)
class Signum(AbstractCompressor):
    """Majority vote on the signs of momenta."""

    beta: float = 0.9
    zero: str = "plus"

    name: ClassVar[str] = "signum"
    paper: ClassVar[str] = "bernstein2018signsgd"

    def __post_init__(self) -> None:
        if not 0 <= self.beta < 1:
            raise PlanError(f"signum(beta={self.beta!r}): the momentum's factor is at least 0 and below 1.")
        if self.zero not in ("plus", "zero"):
            raise PlanError(f"signum(zero={self.zero!r}): zero counts as 'plus' (1 bit) or stays 'zero' (1.6 bits).")

    @property
    def _vote(self) -> Majority:
        return Majority(self.zero)

    @property
    def spares_small(self) -> bool:
        return self._vote.spares_small

    @property
    def owns_momentum(self) -> bool:
        return self.beta > 0

    @property
    def lossless(self) -> AbstractCompressor | None:
        return Momentum(Identity(), self.beta) if self.owns_momentum else None

    @property
    def routed(self) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        return self._vote.traits(spec)

    def payload_bits(self, spec: BucketSpec) -> int:
        return self._vote.payload_bits(spec)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Moving:
        return Moving(torch.zeros(spec.numel, device=seat.device), self._vote.init(spec, seat))

    async def exchange(self, x: Tensor, state: Moving, spec: BucketSpec, turn: Turn) -> Exchanged:
        m = self.beta * state.m + (1 - self.beta) * as_float32(x)
        wide = replace(spec, dtype=torch.float32)
        out = await self._vote.exchange(m, state.inner, wide, turn)
        return Exchanged(back_to(x.dtype, out.mean), lambda: back_to(x.dtype, out.sent), Moving(m, out.state))

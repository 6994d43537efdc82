"""DIANA: only differences from a slowly learned shift are quantized, so the noise vanishes as training converges.

    d_i = Q(x_i - h_i);   update = h + mean d_i;   h_i <- h_i + a d_i;   h <- h + a mean d_i  (= mean h_i on every rank)

Mishchenko, Gorbunov, Takac, Richtarik, 2019, arXiv:1901.09269. Q is any unbiased compressor; a = 1/(1 + omega) unless
given, and never more, or it may diverge. Unbiased; its variance is omega |x_i - h_i|^2, not of |x_i|^2, so no omega is
claimed. Not error feedback and not momentum correction (survey errata 001.13), and more than blockwise quantization
(000.17). Messages are gathered: what an owner rounds a second time would make h drift from the mean of h_i. The prox
and the momentum of the paper belong to the optimizer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import NOMINAL, AbstractCompressor, Traits, back_to, wide
from laconic.compress.qsgd import QSGD
from laconic.compress.routed import seat_on, turn_on
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Route, Router, Seat, Turn


class Shifts(NamedTuple):
    own: Tensor  # h_i
    mean: Tensor  # h
    inner: Any


@dataclass(frozen=True)
class Diana(AbstractCompressor):
    """Quantized differences from a shift that follows the gradient."""

    inner: AbstractCompressor = field(default=QSGD(4))
    rate: float = 0.0  # 0: 1/(1 + omega)

    name: ClassVar[str] = "diana"
    paper: ClassVar[str] = "mishchenko2019diana"

    def __post_init__(self) -> None:
        traits = self.inner.traits(NOMINAL)
        if not traits.unbiased or traits.omega is None:
            raise PlanError(f"diana({self.inner}): Q must be unbiased with a known variance, as qsgd(4).")
        if not 0 <= self.rate <= 1 / (1 + traits.omega):
            raise PlanError(
                f"diana(rate={self.rate!r}): shifts of {self.inner} diverge above 1/(1 + omega) = "
                f"{1 / (1 + traits.omega):.3g}; use 0 for just that."
            )

    def _rate(self, spec: BucketSpec) -> float:
        omega = self.inner.traits(wide(spec)).omega
        assert omega is not None, "asked for when it was built"
        return self.rate or 1 / (1 + omega)

    @property
    def routed(self) -> bool:
        return False

    def gathers(self, router: Router, world: int) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        inner = self.inner.traits(spec)
        lossless = inner.omega == 0.0
        return Traits(
            unbiased=True,
            omega=0.0 if lossless else None,
            delta=1.0 if lossless else None,
            linear=inner.linear,
            rounds=inner.rounds,
            grain=inner.grain,
            size=inner.size,
        )

    @property
    def spares_small(self) -> bool:
        return self.inner.spares_small

    def payload_bits(self, spec: BucketSpec) -> int:
        return self.inner.payload_bits(wide(spec))

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Shifts:
        zeros = torch.zeros(spec.numel, dtype=wide(spec).dtype, device=seat.device)
        return Shifts(zeros, zeros.clone(), self.inner.init(wide(spec), seat_on(Route.GATHER, seat)))

    async def exchange(self, x: Tensor, state: Shifts, spec: BucketSpec, turn: Turn) -> Exchanged:
        out = await self.inner.exchange(x - state.own, state.inner, wide(spec), turn_on(Route.GATHER, turn))
        rate = self._rate(spec)
        shifts = Shifts(state.own + rate * out.sent, state.mean + rate * out.mean, out.state)
        mean, sent = state.mean + out.mean, state.own + out.sent
        return Exchanged(back_to(x.dtype, mean), back_to(x.dtype, sent), shifts)

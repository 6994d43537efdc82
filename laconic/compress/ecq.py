"""ECQ-SGD: a quantizer whose past errors are added back with a weight, and forgotten slowly.

    q = Q(x + alpha h);   h <- beta h + (x - q)

Wu, Huang, Huang, Zhang, ICML 2018, arXiv:1806.08054. h is the decayed sum of all past x - q, not only of the last
one; alpha = beta = 1 is error feedback, alpha = 0 the quantizer alone. On average h shrinks by beta - alpha a step and
Q adds noise: it is stable where (beta - alpha)^2 + omega alpha^2 < 1, which is checked. With beta = 1 nothing is lost,
with beta < 1 a share of every error is. q is not an unbiased estimate of x, though Q is of what it gets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import NOMINAL, AbstractCompressor, Traits, back_to, wide
from laconic.compress.qsgd import QSGD
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Seat, Turn


class History(NamedTuple):
    residual: Tensor  # h
    inner: Any


@dataclass(frozen=True)
class ECQ(AbstractCompressor):
    """An unbiased quantizer with a decaying memory of all its past errors."""

    inner: AbstractCompressor = field(default=QSGD(4))
    alpha: float = 0.2
    beta: float = 0.9

    name: ClassVar[str] = "ecq"
    paper: ClassVar[str] = "wu2018ecq"

    def __post_init__(self) -> None:
        traits = self.inner.traits(NOMINAL)
        if not traits.unbiased or traits.omega is None:
            raise PlanError(f"ecq({self.inner}): the quantizer must be unbiased with a known variance, as qsgd(4).")
        if not 0 <= self.alpha <= 1 or not 0 <= self.beta <= 1:
            raise PlanError(f"ecq(alpha={self.alpha!r}, beta={self.beta!r}): both are between 0 and 1.")
        factor = (self.beta - self.alpha) ** 2 + traits.omega * self.alpha**2
        if self.alpha and factor >= 1:
            raise PlanError(
                f"ecq: the memory would grow by {factor:.3g} a step, as {self.inner} has omega {traits.omega:.3g}. "
                f"Use more bits, or alpha={(1 - 1e-3) / (1 + traits.omega):.2f} and beta=1."
            )

    def traits(self, spec: BucketSpec) -> Traits:
        inner = self.inner.traits(spec)
        return Traits(
            unbiased=False,
            omega=None,
            delta=None,
            linear=inner.linear,
            rounds=inner.rounds,
            grain=inner.grain,
            remembers=True,
            leaks=self.beta < 1,
            size=inner.size,
        )

    @property
    def spares_small(self) -> bool:
        return self.inner.spares_small

    def payload_bits(self, spec: BucketSpec) -> int:
        return self.inner.payload_bits(wide(spec))

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> History:
        h = torch.zeros(spec.numel, dtype=wide(spec).dtype, device=seat.device)
        return History(h, self.inner.init(wide(spec), seat, remember=True))

    async def exchange(self, x: Tensor, state: History, spec: BucketSpec, turn: Turn) -> Exchanged:
        out = await self.inner.exchange(x + self.alpha * state.residual, state.inner, wide(spec), turn)
        h = self.beta * state.residual + (x - out.sent)
        return Exchanged(back_to(x.dtype, out.mean), lambda: back_to(x.dtype, out.sent), History(h, out.state))

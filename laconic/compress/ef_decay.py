"""Error feedback with decay: old errors fade.

    p = gamma x + beta e;   say C(p);   e <- p - C(p)

Wu et al., ICML 2018, arXiv:1806.08054 (the decay); Xu et al., GRACE, ICDCS 2021 (beta and gamma as here). beta =
gamma = 1 is `ef`, beta = 0 forgets everything, so it is C alone. In every step (1 - beta) e is lost on purpose:
errors of long ago belong to a model that is gone. This is not ECQ's recursion, which weighs errors differently.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from laconic.compress.base import AbstractCompressor, Traits
from laconic.compress.memory import AbstractMemory, check_share
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Seat, Turn


@dataclass(frozen=True)
class EFDecay(AbstractMemory):
    """Error feedback whose memory fades."""

    inner: AbstractCompressor
    beta: float = 0.9
    gamma: float = 1.0

    name: ClassVar[str] = "ef_decay"
    paper: ClassVar[str] = "wu2018error"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self, "beta", self.beta, one=True)
        if not self.gamma > 0:
            raise PlanError(f"ef_decay(gamma={self.gamma!r}): the weight of a gradient is above 0.")
        if not self.inner.parts and self.inner.name == "none":
            raise PlanError("ef_decay(none): nothing is lost without compression, so there is no error. Use none.")

    def traits(self, spec: BucketSpec) -> Traits:
        claims = super().traits(spec)
        return replace(claims, leaks=self.beta < 1 or self.gamma != 1, delta=claims.delta if self.gamma == 1 else None)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Any:
        return self.core.init(spec, seat)

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        faded = state._replace(residual=self.beta * state.residual)
        return await self.core.exchange(x if self.gamma == 1 else self.gamma * x, faded, spec, turn)

"""Error feedback whose memories are averaged now and then: all ranks go on with the same error.

    p = e_i + x;   say C(p);   e_i <- p - C(p);   after every A-th step   e_i <- mean of all e_i

Xu, Huo, Huang, AAAI 2021, arXiv:2008.05823: the "error averaging" of their SAEF; sum e_i stays, so nothing is lost, and
ranks stop drifting apart in what they owe. It costs a dense average every A steps, 32/A bits an element (the survey
prints an average in every step, errata 001.6). NOT SAEF itself: its other half, gradients at x - lr e_i ("step
ahead"), shifts the weights under the forward pass, and an exchange sees gradients only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from laconic.compress.base import AbstractCompressor
from laconic.compress.identity import Identity
from laconic.compress.memory import AbstractMemory
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Mean, Seat, Turn


@dataclass(frozen=True)
class EFAveraged(AbstractMemory):
    """Error feedback; every so many steps all ranks take the mean of their errors."""

    inner: AbstractCompressor
    every: int = 20

    name: ClassVar[str] = "ef_averaged"
    paper: ClassVar[str] = "xu2021step"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.every, int) or self.every < 1:
            raise PlanError(f"ef_averaged(every={self.every!r}): errors are averaged every so many steps, from 1 up.")
        if self.inner == Identity():
            raise PlanError("ef_averaged(none): nothing is lost without compression, so there is no error. Use none.")

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Any:
        return self.core.init(spec, seat)

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        out = await self.core.exchange(x, state, spec, turn)
        if (turn.number + 1) % self.every:
            return out
        return out._replace(state=out.state._replace(residual=await Mean(out.state.residual.clone())))

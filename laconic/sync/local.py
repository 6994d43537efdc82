"""Local SGD: workers train alone for h steps, then average their models.

    x_i <- x_i - eta g_i(x_i);   every h steps:  x_i <- outer(a, mean_j (a - x_j)),  a the last agreed model

Stich, ICLR 2019, arXiv:1805.09767. It is the way since the last agreement (a - x) that is exchanged, so every
compressor with its memory works on it. Optimizer state (momentum, Adam moments) stays with its worker. `outer` says
what to do with the mean way: `add` (average), `nesterov` (DiLoCo), `slowmo`, `bmuf`. With plain SGD, or SGD with
momentum, local(1) is BSP: both are linear in the gradient.
Surveys that average only the gradient of the h-th step describe something else: replicas never meet again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from laconic.core.errors import PlanError
from laconic.outer import AbstractOuter, Add
from laconic.sync.rounds import AbstractRounds


@dataclass(frozen=True)
class Local(AbstractRounds):
    """Train h steps alone, then average the models."""

    h: int = 8
    outer: AbstractOuter = field(default=Add())

    name: ClassVar[str] = "local"
    paper: ClassVar[str] = "stich2019local"

    def __post_init__(self) -> None:
        if not isinstance(self.h, int) or self.h < 1:
            raise PlanError(f"local(h={self.h!r}): the number of local steps is a whole number from 1 up.")

    def outer_by(self) -> AbstractOuter:
        return self.outer

    def talks(self, step: int) -> bool:
        return step % self.h == 0

    def traits(self) -> dict[str, object]:
        return {
            "subject": "model delta",
            "replicas": f"equal after every {self.h} steps",
            "lost_on_fault": f"at most {self.h} steps",
        }

"""Block updates: every step moves one block of the model, and only its gradient travels.

    step t, block b = t mod B:   x_b <- prox(x_b - eta mean_i g_{i,b});   prox: soft threshold by eta l1

Li, Andersen, Smola, Yu, NIPS 2014. A B-th of the traffic of BSP in every step. Block b holds buckets b, b + B, ...;
with one block and l1 = 0 it is BSP. Parameters whose turn it is not keep still: their gradients are thrown away. With
delay=1 a block's mean is applied one step late, and its exchange is hidden behind that step (the paper's bounded
delay); flush() and state_dict() drop the one that is under way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.core.errors import PlanError
from laconic.sync.base import AbstractSync, Subject
from laconic.sync.rounds import check_steps


@dataclass(frozen=True)
class Blocks(AbstractSync):
    """Move one block of the model a step, in turn."""

    count: int = 4
    l1: float = 0.0
    delay: int = 0  # steps

    name: ClassVar[str] = "blocks"
    paper: ClassVar[str] = "li2014communication"
    subject: ClassVar[Subject] = Subject.GRADIENT

    def __post_init__(self) -> None:
        check_steps(self, "count", self.count)
        if self.delay not in (0, 1):
            raise PlanError(f"blocks(delay={self.delay!r}): updates are applied at once (0) or one step late (1).")
        if not self.l1 >= 0:
            raise PlanError(f"blocks(l1={self.l1:g}): the weight of the penalty is at least 0.")

    @property
    def parts(self) -> int:
        return self.count

    def block(self, turn: int) -> int:
        """Whose turn it is; the first turn is 0."""
        return turn % self.count

    def talks(self, step: int) -> bool:
        return True

    def traits(self) -> dict[str, object]:
        return {
            "subject": f"the gradient of one block of {self.count}",
            "replicas": "equal after every step",
            "lost_on_fault": "the step in flight",
        }

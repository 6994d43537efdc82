"""Post-local SGD: BSP while the learning rate is high, local SGD afterwards.

    steps 1 .. after:  as `bsp`;    from then on:  as `local(h)`

Lin, Stich, Patel, Jaggi, ICLR 2020, arXiv:1808.07217; `after` is best the step of the first decay of the learning rate.
Before it a run is BSP's bit for bit. Compressor memories start anew at the change: a gradient's error is none of a
model's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from laconic.outer import AbstractOuter, Add
from laconic.sync.base import Subject
from laconic.sync.rounds import AbstractRounds, check_steps


@dataclass(frozen=True)
class PostLocal(AbstractRounds):
    """BSP for the first steps, then local SGD."""

    after: int = 100
    h: int = 16
    outer: AbstractOuter = field(default=Add())

    name: ClassVar[str] = "post_local"
    paper: ClassVar[str] = "lin2020dont"
    subject: ClassVar[Subject] = Subject.GRADIENT

    def __post_init__(self) -> None:
        check_steps(self, "after", self.after)
        check_steps(self, "h", self.h)

    def subject_at(self, step: int) -> Subject:
        return Subject.GRADIENT if step <= self.after else Subject.DELTA

    def outer_by(self) -> AbstractOuter:
        return self.outer

    def talks(self, step: int) -> bool:
        return step <= self.after or (step - self.after) % self.h == 0

    def traits(self) -> dict[str, object]:
        return {
            "subject": f"gradient until step {self.after}, then model delta",
            "replicas": f"equal after every step, from step {self.after} on after every {self.h}",
            "lost_on_fault": f"the step in flight, later at most {self.h} steps",
        }

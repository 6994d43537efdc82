"""CoCoD-SGD: the averaging of models is hidden behind the next h steps.

    every h steps:  y_i = x_i, start mean(y);   h steps later:  x_i <- mean(y) + (x_i - y_i)

Shen, Xu, Liu, Chen, Wu, IJCAI 2019, arXiv:1906.12043. What a worker did meanwhile is kept, so no gradient is lost:
the mean of models moves exactly by the mean of all steps. Replicas are equal only after flush().
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from laconic.sync.rounds import AbstractRounds, check_steps


@dataclass(frozen=True)
class CoCoD(AbstractRounds):
    """Average models while the next h steps go on."""

    h: int = 8

    name: ClassVar[str] = "cocod"
    paper: ClassVar[str] = "shen2019faster"

    def __post_init__(self) -> None:
        check_steps(self, "h", self.h)

    @property
    def lag(self) -> int:
        return self.h

    def talks(self, step: int) -> bool:
        return step % self.h == 0

    def go_on(self, now: Tensor, then: Tensor, agreed: Tensor) -> Tensor:
        return agreed + (now - then)

    def traits(self) -> dict[str, object]:
        return {
            "subject": "model delta",
            "replicas": f"share what was done up to {self.h} to {2 * self.h} steps ago",
            "lost_on_fault": f"at most {2 * self.h} steps",
        }

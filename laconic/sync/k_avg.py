"""K-AVG: models are averaged every k steps, k large enough to be worth a higher learning rate.

    x_i <- x_i - eta g_i(x_i);   every k steps:  x_i <- mean_j x_j

Zhou, Cong, IJCAI 2018, arXiv:1708.01012. The same as `local(k)`, under the name of its paper, which shows that the best
k is often well above 1 and that larger steps suit it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.sync.rounds import AbstractRounds, check_steps


@dataclass(frozen=True)
class KAvg(AbstractRounds):
    """Average models every k steps."""

    k: int = 16

    name: ClassVar[str] = "k_avg"
    paper: ClassVar[str] = "zhou2018convergence"

    def __post_init__(self) -> None:
        check_steps(self, "k", self.k)

    def talks(self, step: int) -> bool:
        return step % self.k == 0

    def traits(self) -> dict[str, object]:
        return {
            "subject": "model delta",
            "replicas": f"equal after every {self.k} steps",
            "lost_on_fault": f"at most {self.k} steps",
        }

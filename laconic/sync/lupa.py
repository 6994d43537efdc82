"""LUPA-SGD: talk ever more rarely as the loss falls.

    h <- min(most, h_0 ceil((F_0 / F)^(1/3)))

Haddadpour, Kamani, Mahdavi, Cadambe, NeurIPS 2019, arXiv:1910.13598: under the Polyak-Lojasiewicz condition gradients
shrink with the loss, and so does what workers drift apart. Decided after every round from losses that users tell by
`replica.observe(loss)`, averaged over workers and steps. The period never shrinks; `most` guards against F -> 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from laconic.core.errors import PlanError
from laconic.sync.rounds import AbstractAdaptive, check_steps


@dataclass(frozen=True)
class Lupa(AbstractAdaptive):
    """Average ever more rarely as the loss falls."""

    h: int = 4
    most: int = 64  # steps

    name: ClassVar[str] = "lupa"
    paper: ClassVar[str] = "haddadpour2019local"

    def __post_init__(self) -> None:
        check_steps(self, "h", self.h)
        check_steps(self, "most", self.most)
        if self.most < self.h:
            raise PlanError(f"lupa({self.h}, most={self.most}): the longest period is not below the first.")

    @property
    def first(self) -> int:
        return self.h

    def period(self, now: int, first_loss: float, loss: float, lr_share: float, rounds: int) -> int:
        if not first_loss > 0 or math.isnan(loss):
            return now
        ratio = first_loss / loss if loss > 0 else math.inf
        grown = self.most if ratio > self.most**3 else self.h * math.ceil(ratio ** (1 / 3) - 1e-9)
        return max(now, min(self.most, grown))

    def traits(self) -> dict[str, object]:
        return {
            "subject": "model delta",
            "replicas": f"equal after at most {self.most} steps",
            "lost_on_fault": f"at most {self.most} steps",
        }

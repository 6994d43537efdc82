"""AdaComm: talk rarely at first, more and more often as the loss falls.

    h <- ceil(h_0 sqrt((F / F_0) (eta_0 / eta))),  or h/2 where that is not smaller;   1 <= h <= h_0 max(1, eta_0 / eta)

Wang, Joshi, MLSys 2019, arXiv:1810.08313: rare averaging is fast while far from the optimum and noisy near it.
Decided after every `every` rounds from losses that users tell by `replica.observe(loss)`, averaged over workers and
steps. Differs: the paper decides by wall-clock intervals, which workers do not share; and halving stops at 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from laconic.sync.rounds import AbstractAdaptive, check_steps


@dataclass(frozen=True)
class AdaComm(AbstractAdaptive):
    """Average ever more often as the loss falls."""

    h: int = 16
    every: int = 4  # rounds between decisions

    name: ClassVar[str] = "adacomm"
    paper: ClassVar[str] = "wang2019adaptive"

    def __post_init__(self) -> None:
        check_steps(self, "h", self.h)
        check_steps(self, "every", self.every)

    @property
    def first(self) -> int:
        return self.h

    def period(self, now: int, first_loss: float, loss: float, lr_share: float, rounds: int) -> int:
        if rounds % self.every:
            return now
        rate = 1 / lr_share if lr_share > 0 else 1.0
        ratio = max(0.0, loss / first_loss) if first_loss > 0 else 1.0
        wanted = math.ceil(self.h * math.sqrt(ratio * rate) - 1e-9)
        if wanted >= now and lr_share >= 1:
            wanted = now // 2
        return max(1, min(wanted, math.ceil(self.h * max(1.0, rate))))

    def traits(self) -> dict[str, object]:
        return {
            "subject": "model delta",
            "replicas": f"equal after {self.h} steps, later after fewer; more where the learning rate has fallen",
            "lost_on_fault": f"at most {self.h} steps, times first learning rate / learning rate where that has fallen",
        }

"""SlowMo: slow momentum on the mean way, in units of the inner learning rate.

    u <- beta u + w / gamma;   a <- a - alpha gamma u                      gamma: the inner learning rate now

Wang, Tantia, Ballas, Rabbat, ICLR 2020, arXiv:1910.00643. beta 0.4 to 0.8, more with more workers; alpha 1. With beta
0 and alpha 1 it averages models. Differs: the inner optimizer's own momentum stays with its worker (the paper's
"maintain").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.core.errors import PlanError, UsageError
from laconic.outer.base import AbstractOuter, Memory, Round


@dataclass(frozen=True)
class SlowMo(AbstractOuter):
    """Slow momentum over rounds, in units of the inner learning rate."""

    momentum: float = 0.5  # beta
    lr: float = 1.0  # alpha

    name: ClassVar[str] = "slowmo"
    paper: ClassVar[str] = "wang2020slowmo"

    def __post_init__(self) -> None:
        if not (self.lr > 0 and 0 <= self.momentum < 1):
            raise PlanError(f"{self}: the rate is above 0 and the momentum at least 0 and below 1.")

    def init(self, anchor: Tensor) -> Memory:
        return (torch.zeros_like(anchor),)

    def step(self, anchor: Tensor, way: Tensor, memory: Memory, now: Round) -> tuple[Tensor, Memory]:
        if now.lr <= 0:
            raise UsageError(f"slowmo divides by the learning rate, which is {now.lr:g} now. Keep it above 0.")
        slow = memory[0] * self.momentum + way / now.lr
        return anchor - self.lr * now.lr * slow, (slow,)

    def traits(self) -> dict[str, object]:
        return {"memory": "a model", "follows": "the inner learning rate"}

"""BMUF: blockwise model update filtering, momentum from block to block.

    D <- eta D - zeta w;   W <- W + D;   the next block starts at W (`classic`), or at W + eta D (`nesterov`)

Chen, Huo, ICASSP 2016. eta = 1 - 1/n unless said, zeta = 1. w is measured from where the block started. With eta 0, as
for one worker, it averages models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.core.errors import PlanError
from laconic.outer.base import AbstractOuter, Memory, Round

BY_WORLD = -1.0


@dataclass(frozen=True)
class BMUF(AbstractOuter):
    """Momentum from block to block, 1 - 1/n for n workers unless said."""

    rate: float = 1.0  # zeta
    momentum: float = BY_WORLD  # eta
    start: str = "classic"

    name: ClassVar[str] = "bmuf"
    paper: ClassVar[str] = "chen2016scalable"

    def __post_init__(self) -> None:
        if self.start not in ("classic", "nesterov"):
            raise PlanError(f"bmuf(start={self.start}): a block starts by classic or nesterov momentum.")
        if self.rate <= 0 or not (self.momentum == BY_WORLD or 0 <= self.momentum < 1):
            raise PlanError(
                f"bmuf({self.rate:g}, momentum={self.momentum:g}): the rate is above 0 and the momentum at least 0 and "
                f"below 1; left out it is 1 - 1/n."
            )

    def init(self, anchor: Tensor) -> Memory:
        return torch.zeros_like(anchor), anchor.clone()

    def step(self, anchor: Tensor, way: Tensor, memory: Memory, now: Round) -> tuple[Tensor, Memory]:
        eta = 1 - 1 / now.world if self.momentum == BY_WORLD else self.momentum
        change = memory[0] * eta - self.rate * way
        model = memory[1] + change
        return (model if self.start == "classic" else model + eta * change), (change, model)

    def traits(self) -> dict[str, object]:
        return {"memory": "2 models"}

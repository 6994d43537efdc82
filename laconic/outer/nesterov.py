"""Nesterov's momentum on the mean way, DiLoCo's outer optimizer.

    m <- mu m + w;   a <- a - lr (w + mu m)                               as torch.optim.SGD(nesterov=True)

Douillard et al., 2023, arXiv:2311.08105 (lr 0.7, mu 0.9). With lr 1 and mu 0 it is `add`, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.core.errors import PlanError
from laconic.outer.base import AbstractOuter, Memory, Round


@dataclass(frozen=True)
class Nesterov(AbstractOuter):
    """The mean way with Nesterov's momentum."""

    lr: float = 0.7
    momentum: float = 0.9

    name: ClassVar[str] = "nesterov"
    paper: ClassVar[str] = "douillard2023diloco"

    def __post_init__(self) -> None:
        if not (self.lr > 0 and 0 <= self.momentum < 1):
            raise PlanError(f"{self}: the rate is above 0 and the momentum at least 0 and below 1.")

    def init(self, anchor: Tensor) -> Memory:
        return (torch.zeros_like(anchor),) if self.momentum else ()

    def step(self, anchor: Tensor, way: Tensor, memory: Memory, now: Round) -> tuple[Tensor, Memory]:
        if not memory:
            return anchor - (way if self.lr == 1 else self.lr * way), memory
        velocity = memory[0] * self.momentum + way
        return anchor - self.lr * (way + self.momentum * velocity), (velocity,)

    def traits(self) -> dict[str, object]:
        return {"memory": "a model" if self.momentum else "none"}

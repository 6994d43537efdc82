"""Add: go the mean way, no more and no less. Plain model averaging.

a <- a - w
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.core import memory as core_memory
from laconic.outer.base import AbstractOuter, Memory, Round


@dataclass(frozen=True)
class Add(AbstractOuter):
    """Go the mean way: models are averaged."""

    name: ClassVar[str] = "add"

    def step(self, anchor: Tensor, way: Tensor, memory: Memory, now: Round) -> tuple[Tensor, Memory]:
        agreed = core_memory.empty(anchor.numel(), anchor.dtype, anchor.device)
        return torch.sub(anchor, way, out=agreed), memory

    def traits(self) -> dict[str, object]:
        return {"memory": "none"}

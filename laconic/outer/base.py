"""What is done with the mean of the ways that workers have gone since they last agreed: an optimizer for rare steps.

    w = mean_i (a - x_i)   the way, downhill like a gradient;    a', state' = step(a, w, state)

It runs on every worker alike, from equal numbers, so that nothing but w has to travel. State is a tuple of tensors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from laconic.core.component import Component

Memory = tuple[Tensor, ...]


@dataclass(frozen=True)
class Round:
    """What an outer optimizer may know beside the way."""

    lr: float  # of the inner optimizer, now
    world: int


class AbstractOuter(Component, ABC):
    folder: ClassVar[str] = "outer"

    def init(self, anchor: Tensor) -> Memory:
        return ()

    @abstractmethod
    def step(self, anchor: Tensor, way: Tensor, memory: Memory, now: Round) -> tuple[Tensor, Memory]:
        """The model to agree on next; arguments are not modified."""

    @abstractmethod
    def traits(self) -> dict[str, object]: ...

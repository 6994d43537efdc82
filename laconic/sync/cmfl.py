"""CMFL: a worker whose way disagrees with where all went last time keeps it to itself.

    relevance = share of elements with the sign of the last mean way;   worker i speaks iff relevance >= v
    x_i <- a - mean over those who spoke;   nobody spoke: x_i <- a, and v <- 0.9 v until somebody does

Wang, Wang, Li, ICDCS 2019. As local SGD otherwise, every h steps; v = 0 is local(h). In the first round all speak.
Elements that are 0 in either agree with anything. What a silent worker did since the last round is lost, as in the
paper. Decided for every bucket by itself; a silent worker still sends the 8 bytes that say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.core.errors import PlanError
from laconic.sync.rounds import AbstractRounds, check_steps

PATIENCE = 0.9


@dataclass(frozen=True)
class CMFL(AbstractRounds):
    """Local SGD in which only ways that agree with the last mean are said."""

    h: int = 8
    relevance: float = 0.6  # v

    name: ClassVar[str] = "cmfl"
    paper: ClassVar[str] = "wang2019cmfl"

    def __post_init__(self) -> None:
        check_steps(self, "h", self.h)
        if not 0 <= self.relevance <= 1:
            raise PlanError(f"cmfl(relevance={self.relevance:g}): a share of elements is at least 0 and at most 1.")

    def talks(self, step: int) -> bool:
        return step % self.h == 0

    def traits(self) -> dict[str, object]:
        return {
            "subject": "model delta, where it agrees with the last",
            "replicas": f"equal after every {self.h} steps",
            "lost_on_fault": f"at most {self.h} steps, and what is not relevant",
        }


def relevance(way: Tensor, last: Tensor) -> float:
    """The share of elements that do not point the other way."""
    return 1.0 - float((torch.sign(way) * torch.sign(last) < 0).double().mean()) if way.numel() else 1.0


def next_threshold(wanted: float, now: float, spoke: int) -> float:
    return wanted if spoke else now * PATIENCE

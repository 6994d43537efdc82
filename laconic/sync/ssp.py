"""Stale synchronous parallel: nobody is more than s steps ahead of the slowest.

    a worker at clock c begins its next step iff  c - min_j c_j <= s
    its model then holds all updates of clocks up to c - s, all its own, and any of the rest

Ho et al., NIPS 2013. s = 0 is BSP (with SGD, whose steps are linear in the gradient), s without bound is `asp`. The
bound is checked whenever a model is read, and the largest gap seen stands in `replica.stats.staleness`. A worker that
is always slow bounds everyone sooner or later; delays that come and go are hidden. Over gossip the bound is between
neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.sync.rounds import check_steps
from laconic.sync.shared import AbstractShared


@dataclass(frozen=True)
class SSP(AbstractShared):
    """Nobody is more than s steps ahead of the slowest."""

    s: int = 3

    name: ClassVar[str] = "ssp"
    paper: ClassVar[str] = "ho2013more"

    def __post_init__(self) -> None:
        check_steps(self, "s", self.s, least=0)

    @property
    def bound(self) -> int | None:
        return self.s

    def traits(self) -> dict[str, object]:
        return {
            "subject": "steps, one by one",
            "replicas": f"at most {self.s} steps apart, equal after flush()",
            "lost_on_fault": "the step in flight of that worker",
        }

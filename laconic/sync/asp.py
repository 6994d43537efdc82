"""Asynchronous parallel: nobody waits for anybody.

    on arrival of worker i's step d, computed from a model that was t updates older:   x <- x + w d
    w = 1/n;   damped:  w = 1/max(n, t + 1);   most=T:  dropped if t > T
    compensate=c:   d <- d - c d * d * (x - x_then),   x_then the model that worker i read

Dean et al., NIPS 2012. damped: Zhang, Gupta, Lian, Liu, IJCAI 2016, arXiv:1511.05950: a rate of 1/t on sums, which for
n workers of equal speed is the 1/n of a mean; so only updates that are staler than that lose weight here. compensate:
DC-ASGD, Zheng et al., ICML 2017, arXiv:1609.08326, with c = lambda / learning rate, since it is steps and not
gradients that travel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.core.errors import PlanError
from laconic.sync.rounds import check_steps
from laconic.sync.shared import AbstractShared


@dataclass(frozen=True)
class ASP(AbstractShared):
    """Nobody waits: steps are added to the shared model as they come."""

    rate: str = "plain"
    most: int = 0  # staleness beyond which updates are dropped; 0: none is
    compensate: float = 0.0

    name: ClassVar[str] = "asp"
    paper: ClassVar[str] = "dean2012large"

    def __post_init__(self) -> None:
        check_steps(self, "most", self.most, least=0)
        if self.rate not in ("plain", "damped"):
            raise PlanError(f"asp({self.rate}): the rate of stale updates is plain or damped.")
        if not self.compensate >= 0:
            raise PlanError(f"asp(compensate={self.compensate:g}): the weight of the compensation is at least 0.")

    @property
    def bound(self) -> int | None:
        return None

    @property
    def damped(self) -> bool:
        return self.rate == "damped"

    @property
    def limit(self) -> int | None:
        return self.most or None

    @property
    def compensation(self) -> float:
        return self.compensate

    def papers(self) -> tuple[str, ...]:
        more = [(self.damped, "zhang2016staleness"), (self.compensate > 0, "zheng2017asynchronous")]
        return (self.paper, *(key for used, key in more if used))

    def traits(self) -> dict[str, object]:
        return {
            "subject": "steps, one by one",
            "replicas": "apart without bound, equal after flush()",
            "lost_on_fault": "the step in flight of that worker",
        }

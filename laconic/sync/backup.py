"""Backup workers: a step is complete when all but b workers have delivered; what comes later is dropped.

    step t:  the first n - b updates computed from version t (and those that come within `grace` seconds) are averaged,
             x <- x + their mean, version t + 1;   an update of an older version is dropped, and its worker reads anew

Chen, Pan, Monga, Bengio, Jozefowicz, 2016, arXiv:1604.00981. b = 0 is BSP (with SGD). The grace window: when the rest
is only a little late, waiting for it loses less work (Decoupled DiLoCo). A worker that is always slow is always
dropped, and its data with it; its error memory keeps what it could not say, if there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.core.errors import PlanError
from laconic.sync.rounds import check_steps
from laconic.sync.shared import IN_ROUNDS, AbstractShared


@dataclass(frozen=True)
class Backup(AbstractShared):
    """Do not wait for the b slowest workers of a step; drop what they bring."""

    b: int = 1
    grace: float = 0.0  # seconds

    name: ClassVar[str] = "backup"
    paper: ClassVar[str] = "chen2016revisiting"
    order: ClassVar[str] = IN_ROUNDS
    only_servers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_steps(self, "b", self.b, least=0)
        if not 0 <= self.grace < 3600:
            raise PlanError(f"backup(grace={self.grace:g}): the window for late updates is 0 to 3600 seconds.")
        if self.grace and not self.b:
            raise PlanError(f"backup(0, grace={self.grace:g}): all are waited for, so nobody is late. Leave grace out.")

    def fit(self, world: int) -> None:
        if 1 < world <= self.b:
            raise PlanError(f"{self}: of {world} workers one must be waited for, so b is at most {world - 1}.")

    @property
    def bound(self) -> int | None:
        return None

    @property
    def backup(self) -> int:
        return self.b

    @property
    def grace_s(self) -> float:
        return self.grace

    def traits(self) -> dict[str, object]:
        return {
            "subject": "steps, in rounds",
            "replicas": "equal after every step of those who are in time",
            "lost_on_fault": "the step in flight; late steps are dropped by plan",
        }

"""What schedules share that are settled after a few measured steps: a guard, unless it is switched off.

`guard=off` keeps what was measured without the trial that shows it is not slower (laconic/pilot.py); presets that
follow a paper use it.
"""

from __future__ import annotations

from typing import ClassVar

from laconic.core.errors import PlanError
from laconic.schedule.base import AbstractSchedule

ON, OFF = "on", "off"


class AbstractMeasured(AbstractSchedule):
    guard: str  # a field of each schedule, its last
    overlaps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.guard not in (ON, OFF):
            raise PlanError(f"{self.name}: guard={self.guard!r}; it is on or off.")

    @property
    def guarded(self) -> bool:
        return self.guard == ON

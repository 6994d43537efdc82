"""IN WHAT ORDER messages leave."""

from __future__ import annotations

from laconic.schedule.base import AbstractSchedule, Item
from laconic.schedule.crossed import Crossed
from laconic.schedule.curve import Curve
from laconic.schedule.fifo import Fifo
from laconic.schedule.fused import Fused
from laconic.schedule.mgwfbp import MgWfbp
from laconic.schedule.ordered import Tac, Tic
from laconic.schedule.planned import Planned
from laconic.schedule.priority import Priority
from laconic.schedule.profile import Profile
from laconic.schedule.wfbp import Wfbp

ALL: tuple[type[AbstractSchedule], ...] = (Fifo, Wfbp, Fused, Planned, MgWfbp, Priority, Tic, Tac, Crossed)

__all__ = [
    "ALL",
    "AbstractSchedule",
    "Crossed",
    "Curve",
    "Fifo",
    "Fused",
    "Item",
    "MgWfbp",
    "Planned",
    "Priority",
    "Profile",
    "Tac",
    "Tic",
    "Wfbp",
]

"""IN WHAT ORDER messages leave."""

from __future__ import annotations

from laconic.schedule.base import AbstractSchedule, Item
from laconic.schedule.fifo import Fifo
from laconic.schedule.fused import Fused
from laconic.schedule.wfbp import Wfbp

ALL: tuple[type[AbstractSchedule], ...] = (Fifo, Wfbp, Fused)

__all__ = ["ALL", "AbstractSchedule", "Fifo", "Fused", "Item", "Wfbp"]

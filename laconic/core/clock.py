"""Time as an object, so that tests never sleep and the simulator can supply its own."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since some fixed moment; never runs backwards."""
        ...


class WallClock:
    def now(self) -> float:
        return time.perf_counter()


@dataclass
class ManualClock:
    """Stands still until told to move."""

    seconds: float = 0.0

    def now(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        assert seconds >= 0, "a clock never runs backwards"
        self.seconds += seconds

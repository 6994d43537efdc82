"""A discrete-event kernel: a clock that jumps from event to event. No threads, no randomness, no waiting.

Events of one moment run in the order of their rank (0 before 1), then in the order in which they were asked for, so a
run repeats exactly.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

Call = Callable[[], None]


class Kernel:
    """Also a `core.clock.Clock`: what asks for the time gets the virtual one."""

    def __init__(self) -> None:
        self._now = 0.0
        self._asked = 0
        self._queue: list[tuple[float, int, int, Call]] = []

    def now(self) -> float:
        return self._now

    def at(self, when: float, call: Call, rank: int = 0) -> None:
        """`call` when the clock shows `when`; rank 1 waits until everything else of that moment is done."""
        assert when >= self._now, f"an event at {when} lies before {self._now}"
        heapq.heappush(self._queue, (when, rank, self._asked, call))
        self._asked += 1

    def after(self, delay_s: float, call: Call) -> None:
        self.at(self._now + delay_s, call)

    def run(self) -> float:
        """Until nothing is left to happen; the time of the last event."""
        while self._queue:
            self._now, _, _, call = heapq.heappop(self._queue)
            call()
        return self._now

"""Spans: what a thread did from when to when, for which step, bucket and chunk.

    ready     a gradient became final (a moment)         compute     forward, backward and the user's own code
    encode    an exchange computes before it asks        optimizer   the optimizer's step, and what it has to wait for
    launch    its question is handed to the backend      apply       means are written, or a bucket's step taken
    wire      from there until the answer is taken       wait        the training thread stands still
    decode    it computes from the last answer

An exchange of several rounds has an `encode` before each of them. Recording costs a clock reading and an append; when
it is off, one comparison.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from laconic.core.clock import Clock, WallClock

MOST = 1_000_000  # spans kept by one rank; about 100 MB


class Span(NamedTuple):
    name: str
    start: float  # seconds of this rank's clock
    stop: float
    thread: str
    step: int
    bucket: int = -1
    chunk: int = -1


class Spans:
    def __init__(self, clock: Clock | None = None, most: int = MOST) -> None:
        self.clock = clock or WallClock()
        self.most, self.lost = most, 0
        self.kept: list[Span] = []
        self.readings: list[tuple[float, float]] = []  # this rank's clock, and how much rank 0's was ahead then

    def now(self) -> float:
        return self.clock.now()

    def add(
        self, name: str, start: float, stop: float, step: int, bucket: int = -1, chunk: int = -1, thread: str = ""
    ) -> None:
        """From any thread. `thread`: another name for it, where spans of this one would overlap."""
        if len(self.kept) < self.most:
            thread = thread or threading.current_thread().name
            self.kept.append(Span(name, start, stop, thread, step, bucket, chunk))
        else:
            self.lost += 1

    @contextmanager
    def span(self, name: str, step: int, bucket: int = -1, chunk: int = -1) -> Iterator[None]:
        start = self.now()
        try:
            yield
        finally:
            self.add(name, start, self.now(), step, bucket, chunk)

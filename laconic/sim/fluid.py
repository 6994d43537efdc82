"""Threads that share a core and messages that share a line, as fluids, in virtual time.

    k threads that compute on c cores each advance at  min(1, c/k)
    k messages on one line each advance at             1/k, times `overlap` while somebody computes
    k rounds that wait for busy cores each advance at  1/k

`overlap` is what is left of a line's speed while the processor is busy with the model: 1 where they do not disturb
each other. Actors are generators that yield what they need next; a `Gate` is something to wait for.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class On(Enum):
    COMPUTE = "compute"  # the model itself, on a core
    CODE = "code"  # encode, decode, copy: on a core too
    LINE = "line"  # bytes on the way
    TURN = "turn"  # latency where ranks share cores: threads wait for each other's turns
    CLOCK = "clock"  # latency: nobody is kept busy


class Need(NamedTuple):
    """So many seconds alone on that resource."""

    on: On
    seconds: float
    name: str = ""


class Span(NamedTuple):
    actor: str
    on: On
    name: str
    start: float
    end: float


@dataclass(eq=False)
class Gate:
    """Opens once; who waits goes on."""

    is_open: bool = False
    waiting: list[int] = field(default_factory=list)


class Both(NamedTuple):
    """Two needs at once, done when both are."""

    first: Need
    second: Need


Actor = Generator[Need | Both | Gate, None, None]


@dataclass
class _Task:
    actor: int
    need: Need
    left: float
    start: float


class Fluid:
    def __init__(self, cores: float = math.inf, overlap: float = 1.0) -> None:
        self.cores, self.overlap, self.now = cores, overlap, 0.0
        self.spans: list[Span] = []
        self.ended: dict[str, float] = {}
        self._actors: list[tuple[str, Actor]] = []
        self._tasks: list[_Task] = []
        self._clocks: list[tuple[float, int, int, Need, float]] = []
        self._pending: dict[int, int] = {}  # needs an actor still waits for
        self._runnable: list[int] = []

    def add(self, name: str, actor: Actor) -> None:
        self._runnable.append(len(self._actors))
        self._actors.append((name, actor))

    def open(self, gate: Gate) -> None:
        gate.is_open = True
        self._runnable += gate.waiting
        gate.waiting.clear()

    def run(self) -> float:
        self._resume()
        while self._tasks or self._clocks:
            self._advance()
            self._resume()
        return self.now

    def _resume(self) -> None:
        while self._runnable:
            number = self._runnable.pop(0)
            name, actor = self._actors[number]
            try:
                need = next(actor)
            except StopIteration:
                self.ended[name] = self.now
                continue
            match need:
                case Gate():
                    if need.is_open:
                        self._runnable.insert(0, number)
                    else:
                        need.waiting.append(number)
                case Both(first=first, second=second):
                    self._pending[number] = 2
                    self._begin(number, first)
                    self._begin(number, second)
                case Need():
                    self._pending[number] = 1
                    self._begin(number, need)

    def _begin(self, actor: int, need: Need) -> None:
        if need.seconds <= 0:
            self._done(actor)
        elif need.on is On.CLOCK:
            heapq.heappush(self._clocks, (self.now + need.seconds, len(self.spans), actor, need, self.now))
        else:
            self._tasks.append(_Task(actor, need, need.seconds, self.now))

    def _done(self, actor: int) -> None:
        self._pending[actor] -= 1
        if self._pending[actor] == 0:
            self._runnable.append(actor)

    def _rates(self) -> list[float]:
        count = Counter(t.need.on for t in self._tasks)
        on_cores = count[On.COMPUTE] + count[On.CODE]
        core = min(1.0, self.cores / on_cores) if on_cores else 1.0
        line = (self.overlap if count[On.COMPUTE] else 1.0) / max(1, count[On.LINE])
        rates = {On.COMPUTE: core, On.CODE: core, On.LINE: line, On.TURN: 1.0 / max(1, count[On.TURN])}
        return [rates[t.need.on] for t in self._tasks]

    def _advance(self) -> None:
        """To the next moment at which something is done."""
        rates = self._rates()
        waits = [t.left / rate if rate > 0 else math.inf for t, rate in zip(self._tasks, rates, strict=True)]
        if self._clocks:
            waits.append(self._clocks[0][0] - self.now)
        step = max(0.0, min(waits))
        assert step < math.inf, "nothing can advance"
        self.now += step
        still = []
        for t, rate, wait in zip(self._tasks, rates, waits, strict=False):
            t.left -= step * rate
            if wait <= step * (1 + 1e-12):
                self._finish(t.actor, t.need, t.start)
            else:
                still.append(t)
        self._tasks = still + self._tasks[len(rates) :]
        while self._clocks and self._clocks[0][0] <= self.now * (1 + 1e-15):
            _, _, actor, need, start = heapq.heappop(self._clocks)
            self._finish(actor, need, start)

    def _finish(self, actor: int, need: Need, start: float) -> None:
        self.spans.append(Span(self._actors[actor][0], need.on, need.name, start, self.now))
        self._done(actor)

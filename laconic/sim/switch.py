"""The logical switch of survey 003: one send and one receive at a time per worker, both at once.

A message holds the sender's sending side and the receiver's receiving side for latency + bytes / rate. One that finds a
side busy waits, and pays its latency when it starts: this gives the 14 and 9 units of the survey's examples 1.1 and
1.2. A worker with several messages to send starts the first whose receiver is free. Who asked first goes first, then
who stands first in its sender's line, then the lower rank.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from laconic.sim.kernel import Call, Kernel
from laconic.sim.network import Network

NO_SIDE = -1  # of a message that is offered by itself


class Passed(NamedTuple):
    """A message that went through."""

    source: int
    target: int
    nbytes: float
    asked: float
    start: float
    end: float


class _Waiting(NamedTuple):
    asked: float
    position: int
    source: int
    number: int
    target: int
    nbytes: float
    done: Call


class Switch:
    """Who waits stands in the line of its sender and in that of its receiver, both sorted. A side that becomes free
    offers its line from the front; lines are looked through together in the order of all their messages."""

    def __init__(self, kernel: Kernel, network: Network, world: int, workers: int | None = None) -> None:
        """`world`: whoever has a line; `workers`: the first of them, without servers (None: all)."""
        self.kernel, self.network, self.world = kernel, network, world
        self.workers = world if workers is None else workers
        self.passed: list[Passed] = []
        self._busy = [False] * (2 * world)  # sending sides, then receiving sides
        self._lines: list[list[_Waiting]] = [[] for _ in range(2 * world)]  # of each side
        self._numbers = count()
        self._free: list[int] = []  # sides that have become free at this moment
        self._fresh: list[_Waiting] = []  # what was asked for at this moment
        self._matching = False

    def send(self, source: int, target: int, nbytes: float, done: Call, position: int = 0) -> None:
        """Ask for a message to be sent now; `done` is called when its last byte has arrived."""
        message = _Waiting(self.kernel.now(), position, source, next(self._numbers), target, nbytes, done)
        insort(self._lines[source], message)
        insort(self._lines[self.world + target], message)
        if not (self._busy[source] or self._busy[self.world + target]):
            self._fresh.append(message)
            self._match_later()

    def _match_later(self) -> None:
        """Once all that happens at this moment has happened."""
        if not self._matching:
            self._matching = True
            self.kernel.at(self.kernel.now(), self._match, rank=1)

    def _match(self) -> None:
        self._matching = False
        free, fresh, busy = self._free, self._fresh, self._busy
        self._free, self._fresh = [], []
        offers = [found for side in free if (found := self._offer(side, 0)) is not None]
        offers += [(message, 0, NO_SIDE) for message in fresh]
        heapify(offers)
        while offers:
            message, place, side = heappop(offers)
            if side != NO_SIDE and busy[side]:
                continue  # it was taken by the other side's offer, and its line has moved
            if not (busy[message.source] or busy[self.world + message.target]):
                self._start(message)
            elif side != NO_SIDE and (found := self._offer(side, place + 1)) is not None:
                heappush(offers, found)

    def _offer(self, side: int, place: int) -> tuple[_Waiting, int, int] | None:
        """The first message of its line, from `place` on, whose other side is free; no side becomes free in between."""
        line, busy, world = self._lines[side], self._busy, self.world
        for i in range(place, len(line)):
            message = line[i]
            if not busy[message.source if side >= world else world + message.target]:
                return message, i, side
        return None

    def _start(self, m: _Waiting) -> None:
        for side in (m.source, self.world + m.target):
            line = self._lines[side]
            del line[bisect_left(line, m)]
            self._busy[side] = True
        now = self.kernel.now()
        end = now + self.network.between(m.source, m.target, self.workers).seconds(m.nbytes)
        self.passed.append(Passed(m.source, m.target, m.nbytes, m.asked, now, end))
        self.kernel.at(end, partial(self._end, m))

    def _end(self, m: _Waiting) -> None:
        sides = (m.source, self.world + m.target)
        for side in sides:
            self._busy[side] = False
        self._free += sides
        m.done()
        self._match_later()

"""The logical switch of survey 003: one send and one receive at a time per worker, both at once.

A message holds the sender's sending side and the receiver's receiving side for latency + bytes / rate. One that finds a
side busy waits, and pays its latency when it starts: this gives the 14 and 9 units of the survey's examples 1.1 and
1.2. A worker with several messages to send starts the first whose receiver is free. Who asked first goes first, then
who stands first in its sender's line, then the lower rank.
"""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import NamedTuple

from laconic.sim.kernel import Call, Kernel
from laconic.sim.network import Network


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
    def __init__(self, kernel: Kernel, network: Network, world: int) -> None:
        self.kernel, self.network, self.world = kernel, network, world
        self.passed: list[Passed] = []
        self._sending, self._receiving = [False] * world, [False] * world
        self._from: list[dict[int, _Waiting]] = [{} for _ in range(world)]  # by number, for each sender
        self._to: list[dict[int, _Waiting]] = [{} for _ in range(world)]  # the same for each receiver
        self._numbers = count()
        self._fresh: dict[int, _Waiting] = {}  # who may start now: asked for, or a side of theirs became free
        self._matching = False

    def send(self, source: int, target: int, nbytes: float, done: Call, position: int = 0) -> None:
        """Ask for a message to be sent now; `done` is called when its last byte has arrived."""
        number = next(self._numbers)
        message = _Waiting(self.kernel.now(), position, source, number, target, nbytes, done)
        self._from[source][number] = self._to[target][number] = self._fresh[number] = message
        self._match_later()

    def _match_later(self) -> None:
        """Once all that happens at this moment has happened."""
        if not self._matching:
            self._matching = True
            self.kernel.at(self.kernel.now(), self._match, rank=1)

    def _match(self) -> None:
        self._matching = False
        fresh, self._fresh = sorted(self._fresh.values(), key=lambda m: m[:4]), {}
        for message in fresh:
            if not (self._sending[message.source] or self._receiving[message.target]):
                self._start(message)

    def _start(self, m: _Waiting) -> None:
        del self._from[m.source][m.number], self._to[m.target][m.number]
        self._sending[m.source] = self._receiving[m.target] = True
        now = self.kernel.now()
        end = now + self.network.between(m.source, m.target, self.world).seconds(m.nbytes)
        self.passed.append(Passed(m.source, m.target, m.nbytes, m.asked, now, end))
        self.kernel.at(end, partial(self._end, m))

    def _end(self, m: _Waiting) -> None:
        self._sending[m.source] = self._receiving[m.target] = False
        self._fresh |= self._from[m.source]
        self._fresh |= self._to[m.target]
        m.done()
        if self._fresh:
            self._match_later()

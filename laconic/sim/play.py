"""Plays hop programs (topology/programs) over the switch, message by message.

A worker begins a round when all it sent and received in the last one is through (and added up: `gamma_s` a byte). A
message leaves when both its ends have begun the round. Programs are the runtime's own; only the order in which one
round's messages leave is chosen here: the next rank first, then the one after it, so that no two call the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from laconic.sim.kernel import Kernel
from laconic.sim.network import Network
from laconic.sim.switch import Passed, Switch
from laconic.topology.programs.hop import IDLE, Program, Receive, Round, Send

FLOAT = 4


class Played(NamedTuple):
    finished: tuple[float, ...]  # when each worker was through
    messages: tuple[Passed, ...]

    @property
    def seconds(self) -> float:
        return max(self.finished, default=0.0)


def play(
    programs: Sequence[Program],
    network: Network,
    itemsize: int = FLOAT,
    ready: Sequence[float] | None = None,
    gamma_s: float = 0.0,
) -> Played:
    """`ready`: when each worker can begin."""
    game = _Game([tuple(p) for p in _even(programs)], network, itemsize, gamma_s)
    for rank, when in enumerate(ready or [0.0] * len(programs)):
        game.kernel.at(when, partial(game.begin, rank, 0))
    game.kernel.run()
    assert all(f is not None for f in game.finished), "a program waits for a message that nobody sends"
    return Played(tuple(f or 0.0 for f in game.finished), tuple(game.switch.passed))


def rotated(programs: Sequence[Program]) -> list[Program]:
    """Each round's messages to the next rank first."""
    n = len(programs)

    def turn(rank: int, r: Round) -> Round:
        if len(r.sends) < 2:
            return r
        return Round(tuple(sorted(r.sends, key=lambda s: (s.peer - rank) % n)), r.receives)

    return [tuple(turn(rank, r) for r in program) for rank, program in enumerate(programs)]


def _even(programs: Sequence[Program]) -> list[Program]:
    """All with as many rounds as the longest."""
    rows = zip_longest(*programs, fillvalue=IDLE)
    return [tuple(column) for column in zip(*rows, strict=True)] or [() for _ in programs]


class _Game:
    def __init__(self, programs: Sequence[Program], network: Network, itemsize: int, gamma_s: float) -> None:
        self.programs, self.itemsize, self.gamma_s = programs, itemsize, gamma_s
        self.kernel = Kernel()
        self.switch = Switch(self.kernel, network, len(programs))
        self.round = [-1] * len(programs)
        self.left = [0] * len(programs)
        self.finished: list[float | None] = [None] * len(programs)

    def begin(self, rank: int, number: int) -> None:
        if number == len(self.programs[rank]):
            self.finished[rank] = self.kernel.now()
            return
        self.round[rank] = number
        this = self.programs[rank][number]
        self.left[rank] = len(this.sends) + len(this.receives)
        if not self.left[rank]:
            self.kernel.at(self.kernel.now(), partial(self.begin, rank, number + 1))
            return
        for position, s in enumerate(this.sends):
            if self.round[s.peer] == number:
                self._leave(rank, s, position)
        for peer in {x.peer for x in this.receives}:
            if self.round[peer] == number:
                for position, s in enumerate(self.programs[peer][number].sends):
                    if s.peer == rank:
                        self._leave(peer, s, position)

    def _leave(self, source: int, s: Send, position: int) -> None:
        through = partial(self._through, source, s.peer)
        self.switch.send(source, s.peer, (s.stop - s.start) * self.itemsize, through, position)

    def _through(self, source: int, target: int) -> None:
        for rank in (source, target):
            self.left[rank] -= 1
            if self.left[rank] == 0:
                number = self.round[rank]
                added = sum(_added(x) for x in self.programs[rank][number].receives) * self.itemsize
                self.kernel.after(added * self.gamma_s, partial(self.begin, rank, number + 1))


def _added(x: Receive) -> int:
    return x.stop - x.start if x.add else 0

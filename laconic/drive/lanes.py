"""Exchanges that go on while backward does: each in one of a few lanes, each lane a thread with connections of its own.

An exchange of several rounds (deal and gather, PowerSGD's two factors) has something to do whenever an answer arrives.
If nobody looks before the end of backward, only its first round is hidden. Here a lane looks: it encodes, waits,
decodes and asks again, while the launching thread computes gradients.

Collectives must be issued in the same order on all ranks, whatever their timing. Exchange number i goes to lane i
modulo the number of lanes; a lane takes one exchange after the other, in launch order, on a process group of its own.
So the order within each group is that of the launches, and groups do not know of each other. Two lanes keep the link
busy while one of them encodes or decodes.

`waited_s` is the time `finish` stood still: waiting for peers, and coding that backward did not hide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from threading import Event

import torch
import torch.distributed as dist

from laconic.core.clock import Clock, WallClock
from laconic.core.exchange import Exchange, Exchanged
from laconic.drive.base import Place
from laconic.drive.roster import Roster
from laconic.drive.torch_dist import TorchDist

LANES = 2


class Lanes:
    def __init__(self, desks: Sequence[TorchDist], clock: Clock | None = None) -> None:
        """`desks`: each on a group of its own; all ranks give theirs in the same order."""
        self.waited_s = 0.0
        self.desks = list(desks)
        self._clock = clock or WallClock()
        self._given_up = Event()
        self._threads = [ThreadPoolExecutor(1, f"laconic-lane{i}") for i in range(len(desks))]
        self._launched: list[Future[Exchanged]] = []
        for desk in self.desks:
            desk.given_up = self._given_up.is_set

    @property
    def group(self) -> dist.ProcessGroup:
        """For what is not an exchange: comparing ranks, sending the first parameters."""
        return self.desks[0].group

    @property
    def roster(self) -> Roster:
        return self.desks[0].roster

    def launch(self, place: Place, program: Exchange) -> None:
        lane = len(self._launched) % len(self.desks)
        self._launched.append(self._threads[lane].submit(_run, self.desks[lane], place, program))

    def finish(self) -> list[Exchanged]:
        start, launched = self._clock.now(), self._launched
        self._launched = []
        try:
            wait(launched, return_when=FIRST_EXCEPTION)
            failed = [f for f in launched if f.done() and f.exception()]
            if failed:
                failed[0].result()  # raises; the others only follow
            return [f.result() for f in launched]
        finally:
            self._end(launched)
            self.waited_s += self._clock.now() - start

    def _end(self, launched: Sequence[Future[Exchanged]]) -> None:
        """After an error no lane may stay behind: it would wait for peers that never come, also when Python ends."""
        if not all(f.done() for f in launched):
            self._given_up.set()
            for f in launched:
                f.cancel()
            wait(launched)
            self._given_up.clear()

    def close(self) -> None:
        self._end(self._launched)
        for thread in self._threads:
            thread.shutdown()
        for desk in self.desks:
            desk.close()


def _run(desk: TorchDist, place: Place, program: Exchange) -> Exchanged:
    with torch.no_grad():  # which is set by thread
        desk.launch(place, program)
        return desk.finish()[0]


def lanes(open_desk: Callable[[], TorchDist]) -> Lanes | TorchDist:
    """As many lanes as keep a link busy; where waiting blocks a stream instead of a thread, no lane is needed."""
    first = open_desk()
    return Lanes([first, *(open_desk() for _ in range(LANES - 1))]) if first.blocks else first

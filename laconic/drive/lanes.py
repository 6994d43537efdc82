"""Exchanges that go on while backward does: each in one of a few lanes, each lane a thread with connections of its own.

An exchange of several rounds (deal and gather, PowerSGD's two factors) has something to do whenever an answer arrives.
If nobody looks before the end of backward, only its first round is hidden. Here a lane looks: it encodes, waits,
decodes and asks again, while the launching thread computes gradients.

Collectives must be issued in the same order on all ranks, whatever their timing. Exchange number i goes to lane i
modulo the number of lanes; a lane takes one exchange after the other, in launch order, on a process group of its own.
So the order within each group is that of the launches, and groups do not know of each other. Two lanes keep the link
busy while one of them encodes or decodes.

An exchange may be launched to stop after its first round; `go_on` queues the rest, in an order of its own. What was
launched may `depart`: somebody takes the futures and collects each when it is needed, perhaps a step later. A small
exchange that must not stand in line goes `aside`, on a lane of its own.

With a `width` of 0 no lane looks: exchanges of a single sum are issued and waited for by who launches them, which saves
the change of threads.

`waited_s` is the time `collect` (or `finish`) stood still: waiting for peers, and coding that backward did not hide.
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
from laconic.drive.torch_dist import GivenUpError, TorchDist

LANES = 2


class Lanes:
    def __init__(
        self,
        desks: Sequence[TorchDist],
        clock: Clock | None = None,
        another: Callable[[], TorchDist] | None = None,
    ) -> None:
        """`desks`: each on a group of its own; all ranks give theirs in the same order. `another`: opens one more."""
        self.waited_s = 0.0
        self.desks = list(desks)
        self.width = len(self.desks)  # lanes in use: as many exchanges are under way at once; 0: without lanes
        self._another = another
        self._side: tuple[TorchDist, ThreadPoolExecutor] | None = None
        self._clock = clock or WallClock()
        self._given_up = Event()
        self._threads = [ThreadPoolExecutor(1, f"laconic-lane{i}") for i in range(len(desks))]
        self._launched: list[Future[Exchanged]] = []
        self._departed: set[Future[Exchanged]] = set()
        self._paused: dict[Place, tuple[int, Future[Exchanged]]] = {}  # its lane, and what will hold the outcome
        for desk in self.desks:
            desk.given_up = self._given_up.is_set

    @property
    def group(self) -> dist.ProcessGroup:
        """For what is not an exchange: comparing ranks, sending the first parameters."""
        return self.desks[0].group

    def use(self, width: int) -> None:
        """So many lanes from here on; all ranks at the same step."""
        assert not [*self._launched, *self._paused], "something is under way in a lane"
        assert not self.desks[0].busy, "something is under way beside the lanes"
        self.width = width

    @property
    def roster(self) -> Roster:
        return self.desks[0].roster

    def launch(self, place: Place, program: Exchange) -> None:
        if not self.width:
            self.desks[0].launch(place, program)
            return
        lane = len(self._launched) % self.width
        self._launched.append(self._threads[lane].submit(_run, self.desks[lane], place, program))

    def launch_half(self, place: Place, program: Exchange) -> None:
        """Only its first round; `go_on` must follow."""
        lane, outcome = len(self._launched) % self.width, Future[Exchanged]()
        self._launched.append(outcome)
        self._paused[place] = lane, outcome
        self._threads[lane].submit(_begin, self.desks[lane], place, program, outcome)

    def go_on(self, place: Place) -> None:
        """Queue the rest of an exchange, in its own lane; all ranks in the same order."""
        lane, outcome = self._paused.pop(place)
        self._threads[lane].submit(_complete, self.desks[lane], place, outcome)

    def aside(self, place: Place, program: Exchange) -> Future[Exchanged]:
        """Beside all lanes; one at a time."""
        if self._side is None:
            self.open_side()
        assert self._side is not None
        desk, thread = self._side
        outcome = thread.submit(_run, desk, place, program)
        self._departed.add(outcome)
        return outcome

    def open_side(self) -> None:
        """Connections for `aside`; all ranks must call it together."""
        assert self._another is not None, "these lanes cannot open another"
        if self._side is None:
            desk = self._another()
            desk.given_up, desk.spans = self._given_up.is_set, self.desks[0].spans
            self._side = desk, ThreadPoolExecutor(1, "laconic-side")

    def depart(self) -> list[Future[Exchanged]]:
        """What was launched since the last time, in launch order; to be collected by the caller."""
        assert not self._paused, "some exchanges stand still after their first round"
        launched, self._launched = self._launched, []
        self._departed.update(launched)
        return launched

    def collect(self, launched: Sequence[Future[Exchanged]]) -> list[Exchanged]:
        """Wait for these; an error of any of them ends all that is under way."""
        start = self._clock.now()
        try:
            wait(launched, return_when=FIRST_EXCEPTION)
            failed = [f for f in launched if f.done() and f.exception()]
            if failed:
                failed[0].result()  # raises; the others only follow
            return [f.result() for f in launched]
        except BaseException:
            self._end([*self._departed, *self._launched])
            raise
        finally:
            self._departed.difference_update(launched)
            self.waited_s += self._clock.now() - start

    def finish(self) -> list[Exchanged]:
        if self.width:
            return self.collect(self.depart())
        before = self.desks[0].waited_s
        try:
            return self.desks[0].finish()
        finally:
            self.waited_s += self.desks[0].waited_s - before

    def _end(self, launched: Sequence[Future[Exchanged]]) -> None:
        """After an error no lane may stay behind: it would wait for peers that never come, also when Python ends."""
        if not all(f.done() for f in launched):
            self._given_up.set()
            for _, outcome in self._paused.values():
                if not outcome.done():
                    outcome.set_exception(GivenUpError("The exchange was ended after its first round."))
            self._paused.clear()
            for f in launched:
                f.cancel()
            wait(launched)
            self._given_up.clear()
        self._departed.clear()

    def close(self) -> None:
        self._end([*self._departed, *self._launched])
        side = [] if self._side is None else [self._side]
        for thread in (*self._threads, *(t for _, t in side)):
            thread.shutdown()
        for desk in (*self.desks, *(d for d, _ in side)):
            desk.close()


def _run(desk: TorchDist, place: Place, program: Exchange) -> Exchanged:
    with torch.no_grad():  # which is set by thread
        desk.launch(place, program)
        return desk.rest(place)


def _begin(desk: TorchDist, place: Place, program: Exchange, outcome: Future[Exchanged]) -> None:
    try:
        with torch.no_grad():
            desk.first_round(place, program)
    except BaseException as error:  # noqa: BLE001  (handed to who waits)
        if not outcome.done():
            outcome.set_exception(error)


def _complete(desk: TorchDist, place: Place, outcome: Future[Exchanged]) -> None:
    if outcome.done() or not outcome.set_running_or_notify_cancel():
        return
    try:
        with torch.no_grad():
            outcome.set_result(desk.rest(place))
    except BaseException as error:  # noqa: BLE001  (handed to who waits)
        outcome.set_exception(error)


def lanes(open_desk: Callable[[], TorchDist]) -> Lanes | TorchDist:
    """As many lanes as keep a link busy; where waiting blocks a stream instead of a thread, no lane is needed."""
    first = open_desk()
    if not first.blocks:
        return first
    return Lanes([first, *(open_desk() for _ in range(LANES - 1))], another=open_desk)

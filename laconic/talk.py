"""What a replica says in a turn: units leave in order, the vote last; what comes back is kept unless a rank objects.

    begin          which buckets take part, their units in launch order, who rides with the last one
    launch_ready   during backward: whatever is final, and whatever stands before it is
    launch_rest    at its end: parameters nobody used, schedules that waited
    conclude       the vote leaves; all that was launched is waited for

Rounds of models (stepping/) use the same steps by hand: launch_early, launch, launch_vote, finish.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from laconic import lazily
from laconic.buckets import Bucket, Unit, by_bucket, joined
from laconic.census import Verdict, census
from laconic.compress.identity import add_up, add_up_in_halves, average, carry
from laconic.core.bucket import flatten
from laconic.core.exchange import Exchange, Exchanged, Turn
from laconic.core.minutes import Minutes
from laconic.drive.base import Place
from laconic.drive.lanes import Lanes
from laconic.riders import Flags, Riders
from laconic.stepping.turns import Turns
from laconic.sync import Subject
from laconic.topology.allreduce import gathers

if TYPE_CHECKING:
    from laconic.replica import Replica


class Landed(NamedTuple):
    """Buckets whose exchanges are complete."""

    buckets: list[Bucket]
    verdict: Verdict
    means: list[Tensor]


class Talk:
    def __init__(self, replica: Replica) -> None:
        self.replica = replica
        self.blocks = Turns(replica.plan.sync, replica.buckets)
        self.riders = Riders(replica.plan, replica.inventory, replica.seat)
        self.minutes = Minutes()  # times and decisions of exchanges
        self.statistics = torch.empty(0)  # the last means of running statistics
        self.live: list[Bucket] = []  # those that take part in this turn
        self._line: list[Unit] = []  # their units
        self._next = 0  # the one of them to launch next
        self._launched: list[Unit] = []
        self._flats: dict[int, Tensor] = {}  # what is exchanged, by bucket
        self._bad: dict[int, list[bool]] = {}  # this pass's non-finite parameters, by bucket
        self.begin()

    def recut(self) -> None:
        """The replica has other buckets."""
        self.blocks = Turns(self.replica.plan.sync, self.replica.buckets)
        self.begin()

    def reorder(self) -> None:
        """The replica has its units in another order."""
        self.live = []
        self.begin()

    def begin(self) -> None:
        live = self.blocks.live(self.replica.turns)
        if live is self.live:
            return  # as in the last turn
        self.live = live
        numbers = {bucket.spec.id for bucket in live}
        self._line = [unit for unit in self.replica.units if unit.bucket in numbers]
        self.riders.settle(self._line, live)
        self.minutes.sizes = {unit.spec.id: unit.stop - unit.start for unit in self._line}

    @property
    def overlaps(self) -> bool:
        """Does what it says leave while backward goes on?"""
        replica = self.replica
        return replica.subject is Subject.GRADIENT and replica.plan.schedule.overlaps and not self.blocks.delay

    # ------------------------------------------------------------- what leaves

    def launch_ready(self) -> None:
        buckets = self.replica.buckets
        while self._next < len(self._line) and not buckets[self._line[self._next].bucket].waiting:
            self._launch(self._line[self._next])

    def launch_rest(self) -> None:
        for unit in self._line[self._next :]:
            self._launch(unit)

    def _launch(self, unit: Unit) -> None:
        """Start the exchange of a bucket or a chunk; strictly in the order of `units`, the same on every rank."""
        if self._next == 0 and self.riders.carrier is None:
            self.launch_early()
        bucket = self.replica.buckets[unit.bucket]
        if unit.bucket not in self._flats:
            self._hold(bucket, *bucket.gradients(self.error_memory(bucket)))
        if bucket is self.riders.carrier:
            self.riders.ride(bucket, self._flags([b.used() for b in self.live]))
        self._start(unit)

    def error_memory(self, bucket: Bucket) -> Tensor | None:
        """What is added to its gradients, or its way, while they are collected, where that saves a pass."""
        replica = self.replica
        if self.blocks.delay or replica.chunk_bytes is not None or lazily.concerns(replica.plan.sync):
            return None  # the memory is not up to date yet, or not in one piece, or has another owner
        apart = bucket.compress.apart(replica.state[bucket.spec.id])
        return None if apart is None or bucket.spec.dtype != torch.float32 else apart[0]

    def launch(self, bucket: Bucket, flat: Tensor, bad: list[bool]) -> None:
        """Start the exchange of a whole bucket, of something else than gradients."""
        self._hold(bucket, flat, bad)
        for unit in by_bucket(self.replica.units)[bucket.spec.id]:
            self._start(unit)

    def _hold(self, bucket: Bucket, flat: Tensor, bad: list[bool]) -> None:
        self._flats[bucket.spec.id], self._bad[bucket.spec.id] = flat, bad
        if any(bad):
            flat.zero_()  # takes part in the collective; the vote will undo the step

    def _start(self, unit: Unit) -> None:
        replica = self.replica
        halves = replica.crossing is not None and replica.crossing.halves
        driver = replica.driver
        launch = driver.launch_half if halves and isinstance(driver, Lanes) else driver.launch
        launch(self.place(unit), self._program(unit, in_halves=halves))
        self._launched.append(unit)
        self._next += 1

    def _program(self, unit: Unit, *, in_halves: bool) -> Exchange:
        replica = self.replica
        bucket, state, sync = replica.buckets[unit.bucket], replica.state[unit.bucket], replica.plan.sync
        seat, flat = replica.seat_of(bucket), self._flats[unit.bucket]
        x = flat if unit.chunk < 0 else flat[unit.start : unit.stop]
        if lazily.concerns(sync):
            return lazily.program(sync, bucket, x, state, Turn(seat, replica.turns))
        if self.riders.aboard and bucket is self.riders.carrier:
            return carry(bucket.whole, bucket.spec.numel, gather=self._gathers(bucket.whole))
        if bucket.plain:
            return add_up_in_halves(x) if in_halves else add_up(x, gather=self._gathers(x))
        turn = Turn(seat, replica.turns, self._lr(bucket), self.minutes, sync.parts)
        if bucket.added and (apart := bucket.compress.apart(state)) is not None:
            _, state = apart
        return bucket.compress.exchange(x, state if unit.chunk < 0 else state[unit.chunk], unit.spec, turn)

    def _gathers(self, x: Tensor) -> bool:
        """A small sum, where nobody has asked for another way to make it."""
        return not x.is_cuda and gathers(self.replica.plan.topology, x.nbytes, self.replica.seat.world)

    def _lr(self, bucket: Bucket) -> float:
        """Model deltas have their learning rate in them already."""
        if self.replica.subject is Subject.DELTA or not bucket.compress.follows_lr:
            return 1.0
        return self.replica.lr(bucket)

    def place(self, unit: Unit) -> Place:
        return Place(self.replica.turns, unit.bucket, unit.spec.names[0], unit.chunk, unit.spec.id)

    def place_after(self, number: int, what: str) -> Place:
        """Of a message that belongs to no unit: the first of them is 0."""
        return Place(self.replica.turns, len(self.replica.units) + number, what)

    # ------------------------------------------------------------- what leaves with it: statistics, the vote

    def launch_early(self) -> None:
        """What need not wait for gradients."""
        if not self.riders.with_statistics:
            self.launch_statistics()

    def launch_statistics(self) -> None:
        """Running means and variances of norm layers are averaged beside the gradients."""
        flat = flatten(self.replica.inventory.statistics(), torch.empty(0))  # cat promotes mixed types
        if flat.numel():
            self.replica.driver.launch(self.place_after(0, "running statistics"), average(flat))

    def write_statistics(self) -> None:
        if self.replica.inventory.norms and self.statistics.numel():
            at = 0
            for t in self.replica.inventory.statistics():
                t.copy_(self.statistics[at : at + t.numel()].view_as(t))
                at += t.numel()

    def launch_vote(self, used: list[list[bool]]) -> None:
        """The last launch of a turn: riders without a carrier."""
        if self.riders.late:
            self.replica.driver.launch(self.ballot_place, self.ballot(used))
        else:
            self._next, room = 0, self.riders.walk(self._flags(used))
            self.replica.driver.launch(self.ballot_place, carry(room, 0, gather=self._gathers(room)))

    @property
    def ballot_place(self) -> Place:
        return self.place_after(1, "vote")

    def ballot(self, used: list[list[bool]]) -> Exchange:
        self._next = 0
        return census(*self._flags(used), self.replica.seat.device)

    def _flags(self, used: list[list[bool]]) -> Flags:
        bad = [flags for _, flags in sorted(self._bad.items())]
        self._bad = {}
        return list(chain(*used)), list(chain(*bad))

    # ------------------------------------------------------------- what comes back

    def conclude(self) -> Landed | None:
        """The vote leaves, and all is waited for; None where that is left to the next step."""
        if not self.riders.aboard:
            self.launch_vote([b.used() for b in self.live])
        self._next = 0
        if not self.blocks.delay:
            return Landed(self.live, *self.finish(self.live))
        self.blocks.late = self.live
        for bucket in self.live:
            bucket.rearm()
        return None

    def conclude_late(self) -> Landed | None:
        """What was launched a step ago, where updates are delayed."""
        late, self.blocks.late = self.blocks.late, []
        return Landed(late, *self.finish(late)) if late else None

    def drop_late(self) -> None:
        """A delayed update that no step will apply."""
        self.conclude_late()
        self.begin()

    def finish(self, live: list[Bucket], extra: int = 0) -> tuple[Verdict, list[Tensor]]:
        """Complete what was launched; commit the new states unless a rank objects. The means of these buckets, and of
        what else (`extra`) was launched after them."""
        replica = self.replica
        replica.note("compute", replica.turns)
        self.time_computing()
        outs = replica.driver.finish()
        verdict = self._outcome(outs)
        self.minutes.arrived()
        replica.note("wait", replica.turns)
        more = [outs.pop() for _ in range(extra)][::-1]
        whole = self._whole(outs, live)
        verdict = self._check_means(verdict, whole, live)
        if verdict.culprit is None:
            for bucket, out in zip(live, whole, strict=True):
                replica.state[bucket.spec.id] = out.state
        replica.take_verdict(verdict, live)
        self.end(live)
        if verdict.culprit is not None:
            self.minutes.keep(replica.turns)  # made by an exchange that does not count
        return verdict, [out.mean for out in (*whole, *more)]

    def end(self, live: list[Bucket]) -> tuple[list[Unit], dict[int, Tensor]]:
        """Ready for the next turn; what was launched in this one."""
        launched, flats = self._launched, self._flats
        self._launched, self._flats = [], {}
        self.replica.turns += 1
        for bucket in live:
            bucket.rearm()
        return launched, flats

    def time_computing(self) -> None:
        driver = self.replica.driver
        self.minutes.lanes = max(1, driver.width) if isinstance(driver, Lanes) else 1
        self.minutes.wait(overlapped=self.overlaps)

    def _outcome(self, outs: list[Exchanged]) -> Verdict:
        """The vote, and statistics, out of what arrived; the rest stays there."""
        norms, driver = self.replica.inventory.norms, self.replica.driver
        if not self.riders.aboard:  # the long vote at once
            if norms:
                self.statistics = outs.pop(0).mean
            told: Verdict = outs.pop().state
            return told
        means, verdict, mine = self.riders.arrive(outs, alone=len(outs) > len(self._launched))
        if norms:
            self.statistics = means if means.numel() else outs.pop(0).mean
        if any(verdict.bad):
            again = self.place_after(3, "vote")  # its letters are not those of the sum
            driver.launch(again, census(*mine, self.replica.seat.device))
            verdict = driver.finish()[0].state
        return verdict

    def _whole(self, outs: Sequence[Exchanged], live: list[Bucket]) -> list[Exchanged]:
        """Buckets, from what units brought in launch order."""
        brought = {unit.spec.id: out for unit, out in zip(self._launched, outs, strict=True)}
        pieces = by_bucket(self._launched)
        return [joined([brought[u.spec.id] for u in pieces[b.spec.id]], self._flats[b.spec.id]) for b in live]

    def _check_means(self, verdict: Verdict, outs: list[Exchanged], live: list[Bucket]) -> Verdict:
        """Finite numbers can overflow inside a codec. The means are equal on all ranks, so all ranks object alike."""
        at = 0
        for bucket, out in zip(live, outs, strict=True):
            bad = [] if bucket.plain or out.finite else bucket.bad(out.mean)
            if verdict.culprit is None and any(bad):
                flags = [False] * at + bad
                flags += [False] * (len(verdict.used) - len(flags))
                verdict = Verdict(verdict.used, tuple(flags), (self.replica.seat.rank, at + bad.index(True)))
            at += len(bucket.params)
        return verdict


def by_parameter(flags: tuple[bool, ...], live: Sequence[Bucket]) -> Iterator[tuple[bool, ...]]:
    """What a verdict says of each parameter, bucket by bucket."""
    at = 0
    for bucket in live:
        yield flags[at : at + len(bucket.params)]
        at += len(bucket.params)

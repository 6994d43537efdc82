"""What a run did, step by step, for `laconic compare`: one file a rank, in the folder LACONIC_JOURNAL names.

An interval lasts from the end of one `optimizer.step()` to the end of the next, so it holds everything a step costs in
the user's own loop, data loading included. Intervals in which a rank called `laconic.log` hold an evaluation; they are
listed in `logged_steps` and readers leave them out of timings.

    rank, world, plan, steps, exchanges
    step, step_s, wait_s                      one entry an interval; `step` is the step that ended it
    wire_bytes_each, tx_bytes_each, exchanges_each     the same; wait_s and tx_bytes_each are null where not known
    wire_bytes, dense_bytes, tx_bytes         since distribute(), up to the last step
    logged_steps                              the steps that ended an interval with a log
    settled_after                             so many steps had been taken when measured orders of messages had settled
    logs                                      [{step, seconds, wire_bytes, tx_bytes, metrics}]

`seconds` of a log is training time: the mean of the intervals without an evaluation, times the steps taken.

The file is replaced whole, at every log (unless it was written a moment ago), when the replica is closed and when the
process ends: a crash loses the steps after the last log, and no log.
"""

from __future__ import annotations

import atexit
import os
import warnings
import weakref
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, Protocol

import torch
from torch.utils.hooks import RemovableHandle

from laconic.core.errors import UsageError
from laconic.core.files import check_writable, json_text, write_whole
from laconic.net.link import Link
from laconic.stats import Stats

_PATIENCE = 20.0  # writing takes at most one part in this many of the run's time


class Watched(Protocol):
    """A Replica or a DdpReplica, as far as the journal cares."""

    @property
    def plan(self) -> Any: ...

    @property
    def stats(self) -> Stats: ...

    def keep(self, hook: Any) -> None: ...


@dataclass(frozen=True)
class Counts:
    """Running totals of all replicas of this process at one moment."""

    seconds: float
    wait_s: float | None
    wire_bytes: int
    dense_bytes: int
    tx_bytes: int | None
    exchanges: int


@dataclass(frozen=True)
class Interval:
    """What happened between the ends of two steps; `step` is the one that ended it."""

    step: int
    seconds: float
    wait_s: float | None
    wire_bytes: int
    tx_bytes: int | None
    exchanges: int


@dataclass(frozen=True)
class Entry:
    """What one `laconic.log` said, and when."""

    step: int
    seconds: float
    wire_bytes: int
    tx_bytes: int | None
    metrics: dict[str, float]


class Watch:
    """One replica: alive, or what it reported last. It must be free to go, since its connections go with it."""

    def __init__(self, replica: Watched) -> None:
        self.replica = weakref.ref(replica)
        self.last = replica.stats
        self.closed = False

    def stats(self) -> Stats:
        replica = self.replica()
        if replica is not None:
            self.last = replica.stats
        return self.last

    @property
    def is_open(self) -> bool:
        return not self.closed and self.replica() is not None


class Journal:
    """One process's journal. The first open replica's steps are the run's steps; bytes and waits count for all."""

    current: ClassVar[Journal | None] = None

    def __init__(
        self,
        folder: Path,
        rank: int = 0,
        world: int = 1,
        interface: str | None = None,
        last_step: int | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.rank, self.world, self.last_step, self.clock = rank, world, last_step, clock
        self.path = folder / f"rank{rank}.json"
        check_writable(self.path, "LACONIC_JOURNAL:")
        self.plan, self.steps = "", 0
        self.intervals: list[Interval] = []
        self.logged_steps: list[int] = []
        self.settled_after = 0
        self.logs: list[Entry] = []
        self._link = Link(interface=interface)
        self._watches: list[Watch] = []
        self._owner = os.getpid()  # a forked data loader must not write in our name
        self._began = clock()
        self._previous: Counts | None = None  # at the end of the last step
        self._total = Counts(0.0, 0.0, 0, 0, None, 0)  # the same, kept when replicas come and go
        self._logged = False  # since the last step
        self._quiet_s, self._quiet = 0.0, 0  # intervals without a log
        self._written_at = self._writing_s = 0.0

    # ------------------------------------------------------------- watching

    def attach(self, replica: Watched, optimizer: torch.optim.Optimizer) -> None:
        """Watch this replica until it is closed."""
        if not self._watches:
            self.plan, self._began = str(replica.plan), self.clock()
            self._link.watch(self._link.interface)
        watch = Watch(replica)
        self._watches.append(watch)
        self._previous = None
        hook = optimizer.register_step_post_hook(lambda *_: self._stepped(watch))
        replica.keep(Ending(hook, lambda: self._close(watch)))

    def _stepped(self, watch: Watch) -> None:
        if watch is not next(other for other in self._watches if other.is_open):
            return
        self.steps += 1
        before, self._previous = self._previous, self._counts()
        self._total = self._previous
        if any(other.last.settling for other in self._watches):
            self.settled_after = self.steps
        if before is not None:
            self._note(_between(before, self._previous, self.steps))
        self._logged = False
        if self.last_step is not None and self.steps >= self.last_step:
            self.write()
            raise SystemExit(0)  # on all ranks alike: they take the same steps

    def _note(self, interval: Interval) -> None:
        self.intervals.append(interval)
        if self._logged:
            self.logged_steps.append(interval.step)
        else:
            self._quiet_s += interval.seconds
            self._quiet += 1

    def _counts(self) -> Counts:
        reports = [watch.stats() for watch in self._watches]
        waits = [report.exposed_wait_s for report in reports]
        return Counts(
            seconds=self.clock(),
            wait_s=None if None in waits else sum(wait_s for wait_s in waits if wait_s is not None),
            wire_bytes=sum(report.wire_bytes for report in reports),
            dense_bytes=sum(report.dense_bytes for report in reports),
            tx_bytes=self._link.tx_bytes,
            exchanges=sum(report.exchanges for report in reports),
        )

    def _close(self, watch: Watch) -> None:
        watch.stats()
        watch.closed, self._previous = True, None
        self.write()

    # ------------------------------------------------------------- telling

    def log(self, metrics: dict[str, float]) -> None:
        self._logged = True
        now = self._counts()
        self.logs.append(Entry(self.steps, self._training_s(), now.wire_bytes, now.tx_bytes, metrics))
        if self.clock() - self._written_at >= _PATIENCE * self._writing_s:
            self.write()

    def _training_s(self) -> float:
        if self._quiet:
            return self._quiet_s / self._quiet * self.steps
        return self._previous.seconds - self._began if self._previous else 0.0

    def as_dict(self) -> dict[str, Any]:
        intervals, total = self.intervals, self._total
        waits, sent = [i.wait_s for i in intervals], [i.tx_bytes for i in intervals]
        return {
            "rank": self.rank,
            "world": self.world,
            "plan": self.plan,
            "steps": self.steps,
            "exchanges": total.exchanges,
            "step": [i.step for i in intervals],
            "step_s": [i.seconds for i in intervals],
            "wait_s": None if None in waits else waits,
            "wire_bytes_each": [i.wire_bytes for i in intervals],
            "tx_bytes_each": None if None in sent else sent,
            "exchanges_each": [i.exchanges for i in intervals],
            "wire_bytes": total.wire_bytes,
            "dense_bytes": total.dense_bytes,
            "tx_bytes": total.tx_bytes,
            "logged_steps": self.logged_steps,
            "settled_after": self.settled_after,
            "logs": [asdict(entry) for entry in self.logs],
        }

    def write(self) -> None:
        """A full disk must not end the training."""
        if os.getpid() != self._owner:
            return
        started = self.clock()
        try:
            write_whole(self.path, json_text(self.as_dict()))
        except OSError as error:
            warnings.warn(f"The journal {self.path} could not be written: {error}.", stacklevel=2)
        self._written_at = self.clock()
        self._writing_s = self._written_at - started


@dataclass(frozen=True)
class Ending:
    """A hook's handle that also tells when it was removed."""

    hook: RemovableHandle
    told: Callable[[], None]

    def remove(self) -> None:
        self.hook.remove()
        self.told()


def start(folder: Path | None, rank: int, world: int, interface: str | None, last_step: int | None) -> None:
    """Open this process's journal, unless it is open; None closes it."""
    journal = Journal.current
    if folder is None:
        Journal.current = None
    elif journal is None or journal.path != folder / f"rank{rank}.json":
        Journal.current = journal = Journal(folder, rank, world, interface, last_step)
        atexit.register(journal.write)


def log(**metrics: float) -> None:
    """Tell `laconic compare` what the model is worth now: `laconic.log(accuracy=0.97, loss=0.11)`.

    Call it after an evaluation, on every rank or on one. Outside `laconic compare` it does nothing.
    """
    if not metrics:
        raise UsageError("laconic.log() was given nothing. Name a metric: laconic.log(accuracy=0.97).")
    numbers = {name: _number(name, value) for name, value in metrics.items()}
    if Journal.current is not None:
        Journal.current.log(numbers)


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        raise UsageError(f"laconic.log({name}={value!r}): a metric is one number.") from None


def _between(before: Counts, now: Counts, step: int) -> Interval:
    return Interval(
        step=step,
        seconds=now.seconds - before.seconds,
        wait_s=_difference(before.wait_s, now.wait_s),
        wire_bytes=now.wire_bytes - before.wire_bytes,
        tx_bytes=_difference(before.tx_bytes, now.tx_bytes),
        exchanges=now.exchanges - before.exchanges,
    )


def _difference(before: Any, now: Any) -> Any:
    return None if before is None or now is None else now - before

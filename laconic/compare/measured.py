"""One run, from the journals its ranks left: what a step took, what it sent, how good the model became.

A step's figure must be right for plans whose steps differ, such as local(8): seven silent steps and one that talks. So
the timed intervals of a rank are told apart by whether an exchange fell into them, and

    step = p * mean(talking) + (1 - p) * mean(silent),     p = talking steps / steps, up to the last talking one

Left out are intervals in which any rank evaluated (called laconic.log) and those of the first steps, while allocators,
connections and compressors settle and measured orders of messages are tried. For the same reason the first that talks,
however late, counts as no longer than the median of those after it; any other counts as at most 5 medians of its kind.
Bytes and waits are averaged with the same weights. A job is as fast as its slowest rank: `step_s` is the largest of
the ranks' figures, bytes and waits are means over ranks. Where nobody waits (asp, gossip) a slow rank does not hold the
others up, which the largest figure hides: `steps_per_s` counts the steps of all ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from laconic.core.errors import LaconicError

WARMUP_STEPS = 5
LONGEST = 5.0  # medians
APART = 1.2  # the slowest rank's step over the fastest's: below, ranks keep step


@dataclass(frozen=True)
class Point:
    """What a run had reached when it logged."""

    step: int
    seconds: float  # of training, evaluations left out
    wire_bytes: float
    tx_bytes: float | None
    metrics: Mapping[str, float | None]


@dataclass(frozen=True)
class Run:
    steps: int
    step_s: float
    wait_s: float | None  # exposed, per step; None: the run could not tell
    wire_bytes: float  # sent by a rank per step, our own count
    tx_bytes: float | None  # the same on the interface; None outside a lab
    points: tuple[Point, ...]
    rank_step_s: tuple[float, ...] = ()  # of every rank

    @property
    def steps_per_s(self) -> float | None:
        """Of all ranks together."""
        return (
            sum(1 / step_s for step_s in self.rank_step_s) if self.rank_step_s and min(self.rank_step_s) > 0 else None
        )

    @property
    def apart(self) -> bool:
        """Did some ranks go faster than others?"""
        return bool(self.rank_step_s) and max(self.rank_step_s) > APART * min(self.rank_step_s)

    @property
    def metrics(self) -> dict[str, float | None]:
        """The last value of every metric."""
        return {name: value for point in self.points for name, value in point.metrics.items()}


@dataclass(frozen=True)
class Interval:
    step: int
    seconds: float
    wait_s: float | None
    wire_bytes: float
    tx_bytes: float | None
    talks: bool


def read_run(journals: Sequence[Mapping[str, Any]], plan: str) -> Run:
    """All ranks' journals, rank 0 first; they must tell of the plan that was asked for."""
    for journal in journals:
        if not journal["plan"]:
            raise LaconicError(
                "The script never called laconic.distribute, so there was nothing to measure. Add "
                "`replica = laconic.distribute(model, optimizer)` to it."
            )
        if journal["plan"] != plan:
            raise LaconicError(
                f"The script was told to train with {plan}, but trained with {journal['plan']}. Leave the plan out of "
                f"laconic.distribute(model, optimizer): it then takes the one it is told."
            )
    steps = {journal["steps"] for journal in journals}
    if len(steps) != 1:
        raise LaconicError(f"Ranks took different numbers of steps: {', '.join(map(str, sorted(steps)))}.")
    evaluated = {step for journal in journals for step in journal["logged_steps"]}
    settled = max(WARMUP_STEPS, *(journal["settled_after"] for journal in journals))
    ranks = [_of_rank(intervals(journal), talking_share(journal), evaluated, settled) for journal in journals]
    waits = [rank.wait_s for rank in ranks if rank.wait_s is not None]
    sent = [rank.tx_bytes for rank in ranks if rank.tx_bytes is not None]
    return Run(
        steps=steps.pop(),
        step_s=max(rank.step_s for rank in ranks),
        wait_s=fmean(waits) if len(waits) == len(ranks) else None,
        wire_bytes=fmean(rank.wire_bytes for rank in ranks),
        tx_bytes=fmean(sent) if len(sent) == len(ranks) else None,
        points=next((points for journal in journals if (points := _points(journal))), ()),
        rank_step_s=tuple(rank.step_s for rank in ranks),
    )


def intervals(journal: Mapping[str, Any]) -> list[Interval]:
    count = len(journal["step_s"])
    unknown = [None] * count
    columns = (
        journal["step"],
        journal["step_s"],
        journal["wait_s"] or unknown,
        journal["wire_bytes_each"],
        journal["tx_bytes_each"] or unknown,
        [exchanges > 0 for exchanges in journal["exchanges_each"]],
    )
    return [Interval(*values) for values in zip(*columns, strict=True)]


def talking_share(journal: Mapping[str, Any]) -> float:
    """Up to the last step that talked, so that a pattern which the end cuts short counts by its whole rounds."""
    talking = [step for step, exchanges in zip(journal["step"], journal["exchanges_each"], strict=True) if exchanges]
    if journal["exchanges"] > sum(journal["exchanges_each"]):
        talking.append(1)  # the first step ends no interval
    return len(talking) / max(talking) if talking else 0.0


@dataclass(frozen=True)
class _Rank:
    step_s: float
    wait_s: float | None
    wire_bytes: float
    tx_bytes: float | None


def _of_rank(all_intervals: Sequence[Interval], share: float, evaluated: set[int], settled: int) -> _Rank:
    if not all_intervals:
        raise LaconicError("The run took fewer than 2 steps with laconic.distribute, which is too few to time one.")
    talking, silent = ([i for i in all_intervals if i.talks is talks] for talks in (True, False))
    weight = share if talking and silent else float(bool(talking))
    kinds = ((weight, talking), (1 - weight, silent))
    first = talking[0] if talking and talking[0].step > settled + 1 else None
    groups = [(weight, _clipped(timed(kind, evaluated, settled), first)) for weight, kind in kinds if kind]

    def mean(of: Callable[[Interval], Any]) -> Any:
        if any(of(interval) is None for _, group in groups for interval in group):
            return None
        return sum(weight * fmean(of(interval) for interval in group) for weight, group in groups)

    return _Rank(
        mean(lambda i: i.seconds), mean(lambda i: i.wait_s), mean(lambda i: i.wire_bytes), mean(lambda i: i.tx_bytes)
    )


def timed(kind: Sequence[Interval], evaluated: set[int], settled: int = WARMUP_STEPS) -> Sequence[Interval]:
    """Without evaluations and without the first steps, as far as anything is left then.

    A script that logs in nearly every step evaluates nothing: there all intervals count.
    """
    quiet = [interval for interval in kind if interval.step not in evaluated]
    if 4 * len(quiet) < len(kind):
        quiet = list(kind)
    for steps in (settled, WARMUP_STEPS):
        late = [interval for interval in quiet if interval.step > steps + 1]
        if late:
            return late
    return quiet


def _clipped(group: Sequence[Interval], first: Interval | None) -> list[Interval]:
    """`first`: the first that talked, where it came late. Its bytes count like any other's."""
    usual = median([i.seconds for i in group if i is not first] or [i.seconds for i in group])
    return [_cut(i, usual if i is first else LONGEST * usual) for i in group]


def _cut(interval: Interval, longest: float) -> Interval:
    if interval.seconds <= longest:
        return interval
    wait_s = None if interval.wait_s is None else interval.wait_s * longest / interval.seconds
    return Interval(interval.step, longest, wait_s, interval.wire_bytes, interval.tx_bytes, interval.talks)


def _points(journal: Mapping[str, Any]) -> tuple[Point, ...]:
    return tuple(Point(**entry) for entry in journal["logs"])

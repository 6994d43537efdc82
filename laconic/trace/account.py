"""Where a step's time went on the training thread.

step time = compute + exposed + rest      a step lasts from one end of optimizer.step() to the next
exposed     the union of `wait`
compute     the union of `compute`, `apply` and `optimizer`, without what of it was waiting
rest        what no span covers; more than 5 % of a step means that spans are missing, and is said
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from laconic.core.units import seconds_text
from laconic.trace.spans import Span

WORK = ("compute", "apply", "optimizer")
TOLERANCE = 0.05
Range = tuple[float, float]


class Account(NamedTuple):
    """Means over the steps counted, in seconds."""

    steps: int
    step_s: float
    compute_s: float
    exposed_s: float

    @property
    def rest(self) -> float:
        """As a share of a step."""
        return abs(self.step_s - self.compute_s - self.exposed_s) / self.step_s if self.step_s else 0.0

    @property
    def adds_up(self) -> bool:
        return self.rest <= TOLERANCE

    def __str__(self) -> str:
        share = 100 * self.exposed_s / self.step_s if self.step_s else 0.0
        verdict = "adds up" if self.adds_up else "does NOT add up: spans are missing"
        return (
            f"step {seconds_text(self.step_s)} = compute {seconds_text(self.compute_s)} + exposed "
            f"{seconds_text(self.exposed_s)} ({share:.0f} %), {100 * self.rest:.1f} % unaccounted; {verdict} "
            f"({self.steps} steps)"
        )


def account(spans: Sequence[Span], skip: int = 2) -> Account | None:
    """Of one rank; `skip` the first steps, where connections and allocators settle. None: too few steps."""
    ends = sorted(s.stop for s in spans if s.name == "optimizer")[skip:]
    if len(ends) < 2:
        return None
    thread = next(s.thread for s in spans if s.name == "optimizer")
    mine = [s for s in spans if s.thread == thread and ends[0] < s.stop and s.start < ends[-1]]
    waits = union((s.start, s.stop) for s in mine if s.name == "wait")
    work = union((s.start, s.stop) for s in mine if s.name in WORK)
    sums = [0.0, 0.0]
    for begin, end in pairwise(ends):
        exposed = _length(_within(waits, begin, end))
        both = _length(union([*_within(work, begin, end), *_within(waits, begin, end)]))
        sums[0] += both - exposed
        sums[1] += exposed
    count = len(ends) - 1
    return Account(count, (ends[-1] - ends[0]) / count, sums[0] / count, sums[1] / count)


def union(ranges: Iterable[Range]) -> list[Range]:
    """Disjoint and sorted."""
    out: list[Range] = []
    for start, stop in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], stop))
        else:
            out.append((start, stop))
    return out


def _within(ranges: Sequence[Range], begin: float, end: float) -> list[Range]:
    cut = [(max(a, begin), min(b, end)) for a, b in ranges]
    return [(a, b) for a, b in cut if a < b]


def _length(ranges: Iterable[Range]) -> float:
    return sum(b - a for a, b in ranges)

"""From runs to the lines of the table: medians over repetitions, ratios (above 1: faster), what communication cost.

exposed_s   plans: the time the training thread stood still for exchanges, as measured
            baselines: DDP does not tell, so step minus the floor's step
compute_s   the rest of the step, with the compressing that it hides
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from laconic.compare.measured import Run
from laconic.compare.rows import DDP, Kind, Row
from laconic.compare.target import Target

MEASURED, BY_FLOOR = "measured", "step minus floor"


@dataclass(frozen=True)
class Setting:
    """What was asked for; the same for all rows."""

    task: str
    args: tuple[str, ...]  # the task's or script's own
    hosts: int
    rate: str | None  # of every link, as asked for; None: not limited
    steps: int | None  # None: as many as the script takes by itself
    repeat: int
    lab: bool = False  # hosts with links of their own; else processes over loopback
    until: Target | None = None
    link: str = ""  # what else is set on the links
    command: str = ""
    machine: Mapping[str, str] = field(default_factory=dict)
    batch: int | None = None  # examples a worker and step; None: the script knows


@dataclass(frozen=True)
class Result:
    """What came of one row: its finished runs, and why it failed if it did."""

    row: Row
    runs: tuple[Run, ...] = ()
    failure: str | None = None


@dataclass(frozen=True)
class Comparison:
    setting: Setting
    results: tuple[Result, ...]
    complete: bool = True  # False: stopped early

    @property
    def failed(self) -> bool:
        return any(result.failure is not None for result in self.results)


@dataclass(frozen=True)
class Spread:
    median: float
    min: float
    max: float


@dataclass(frozen=True)
class Reached:
    """The target: when and after how many sent bytes, if every run got there."""

    seconds: float | None
    wire_bytes: float | None
    tx_bytes: float | None
    runs: int  # that got there


@dataclass(frozen=True)
class Line:
    """One row of the table. Figures are None where the row failed, did not run, or nobody can know."""

    row: Row
    failure: str | None = None
    runs: int = 0
    step_s: Spread | None = None
    ratio_to_ddp: float | None = None
    ratio_to_best_baseline: float | None = None
    times_floor: float | None = None  # its step over the step that never talks
    wire_bytes: float | None = None
    tx_bytes: float | None = None
    compute_s: float | None = None
    exposed_s: float | None = None
    exposed_by: str | None = None
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    reached: Reached | None = None
    steps_per_s: float | None = None  # of all workers
    apart: bool = False  # workers went at different paces in some run


def lines(comparison: Comparison) -> list[Line]:
    good = {result.row: result for result in comparison.results if result.runs and result.failure is None}
    steps = {row: median(run.step_s for run in result.runs) for row, result in good.items()}
    ddp_s = next((step for row, step in steps.items() if row.plan == DDP), None)
    best_s = min((step for row, step in steps.items() if row.kind is Kind.BASELINE), default=None)
    floor_s = next((step for row, step in steps.items() if row.kind is Kind.FLOOR), None)
    until = comparison.setting.until
    return [
        _line(result, ddp_s, best_s, floor_s, until) if result.row in good else Line(result.row, result.failure)
        for result in comparison.results
    ]


def _line(
    result: Result, ddp_s: float | None, best_s: float | None, floor_s: float | None, until: Target | None
) -> Line:
    runs = result.runs
    step_s = Spread(*(of([run.step_s for run in runs]) for of in (median, min, max)))
    exposed_s, exposed_by = _exposed(result, step_s.median, floor_s)
    return Line(
        row=result.row,
        runs=len(runs),
        step_s=step_s,
        ratio_to_ddp=None if ddp_s is None else ddp_s / step_s.median,
        ratio_to_best_baseline=None if best_s is None else best_s / step_s.median,
        times_floor=None if floor_s is None else step_s.median / floor_s,
        wire_bytes=median(run.wire_bytes for run in runs),
        tx_bytes=known_median([run.tx_bytes for run in runs]),
        compute_s=None if exposed_s is None else step_s.median - exposed_s,
        exposed_s=exposed_s,
        exposed_by=exposed_by,
        metrics={name: known_median([run.metrics.get(name) for run in runs]) for name in runs[0].metrics},
        reached=None if until is None else _reached(runs, until),
        steps_per_s=known_median([run.steps_per_s for run in runs]),
        apart=any(run.apart for run in runs),
    )


def _exposed(result: Result, step_s: float, floor_s: float | None) -> tuple[float | None, str | None]:
    wait_s = known_median([run.wait_s for run in result.runs])
    if wait_s is not None:
        return min(wait_s, step_s), MEASURED
    return (None, None) if floor_s is None else (max(0.0, step_s - floor_s), BY_FLOOR)


def _reached(runs: Sequence[Run], until: Target) -> Reached:
    firsts = [next((point for point in run.points if until.met(point.metrics)), None) for run in runs]
    there = [point for point in firsts if point is not None]
    if len(there) < len(runs):
        return Reached(None, None, None, len(there))
    return Reached(
        median(point.seconds for point in there),
        median(point.wire_bytes for point in there),
        known_median([point.tx_bytes for point in there]),
        len(there),
    )


def examples_per_s(line: Line, setting: Setting) -> float | None:
    """Of all workers; a script's batch is its own affair."""
    return None if line.steps_per_s is None or setting.batch is None else setting.batch * line.steps_per_s


def known_median(values: Sequence[float | None]) -> float | None:
    """None as soon as one value is not known."""
    known = [value for value in values if value is not None]
    return median(known) if known and len(known) == len(values) else None


def main_metric(lines: Sequence[Line], until: Target | None) -> str | None:
    """What the table shows: the target's metric, else the first one DDP (or anybody) logged."""
    logged = [name for line in lines for name in line.metrics]
    if until is not None and until.metric in logged:
        return until.metric
    return next(iter(logged), None)


def ddp_line(lines: Sequence[Line]) -> Line | None:
    return next((line for line in lines if line.row.plan == DDP and line.step_s is not None), None)


def best_baseline(lines: Sequence[Line]) -> Line | None:
    """The fastest one."""
    baselines = [line for line in lines if line.row.kind is Kind.BASELINE and line.ratio_to_ddp is not None]
    return max(baselines, key=lambda line: line.ratio_to_ddp or 0.0, default=None)

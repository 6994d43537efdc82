"""What the table means, in sentences: who wins, who loses to DDP or to the best baseline, whose model is worse.

A model counts as worse than DDP's when its metric is more than 1 point (of metrics between 0 and 1 that grow) or more
than 2% (of all others) on the wrong side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from laconic.compare.lines import Comparison, Line, best_baseline, ddp_line, lines, main_metric
from laconic.compare.rows import DDP, NOT_CHOSEN, Kind
from laconic.compare.target import Target, higher_is_better

POINT = 0.01
SHARE = 0.02
BELOW_FLOOR = 0.97
LOOPBACK = (
    "The ranks talked over this machine's loopback, which is not a slow network: what saying less gains cannot show "
    "here. Use --hosts N --rate R for emulated links."
)


def verdict(comparison: Comparison) -> list[str]:
    rows = lines(comparison)
    setting = comparison.setting
    said = [_stopped(comparison)] if not comparison.complete else []
    said += [f"{line.row.text} failed: {_first_line(line.failure)}" for line in rows if line.failure is not None]
    ddp, best = ddp_line(rows), best_baseline(rows)
    if ddp is None or best is None:
        said.append("DDP has no result, so nothing can be compared with it.")
    else:
        ran = [line for line in rows if line.row.kind is Kind.PLAN and line.step_s is not None]
        plans = [line for line in ran if line.row.plan != DDP]
        worse = _worse_rows(rows, ddp, setting.until)
        said += _winner(plans, best, worse)
        said += [text for line in plans if (text := _speed(line, ddp, best))]
        said += [_itself(line) for line in ran if line.row.plan == DDP]
        said += worse.values() or _as_good(rows, ddp, setting.until)
    said += _noise(rows)
    said += _target(rows, setting.until)
    if not setting.lab:
        said.append(LOOPBACK)
    return said


def _stopped(comparison: Comparison) -> str:
    done = sum(len(result.runs) for result in comparison.results)
    return f"Stopped early: {done} of {len(comparison.results) * comparison.setting.repeat} runs are in this table."


def _winner(plans: Sequence[Line], best: Line, worse: Mapping[str, str]) -> list[str]:
    """The fastest plan; if its model is worse than DDP's, also the fastest whose model is not."""
    faster = [line for line in plans if (line.ratio_to_best_baseline or 0.0) > 1]
    order = sorted(faster, key=lambda line: line.ratio_to_ddp or 0.0, reverse=True)
    if not order:
        return [f"No plan is faster than {_name(best)}."] if plans else []
    good = next((line for line in order if line.row.plan not in worse), None)
    said = [f"Fastest plan: {_praise(order[0], best)}."]
    if good is None:
        return [*said, f"No plan that is faster than {_name(best)} has a model as good as DDP's."]
    return said if good is order[0] else [*said, f"Fastest with a model as good as DDP's: {_praise(good, best)}."]


def _praise(line: Line, best: Line) -> str:
    steps = [f"{line.ratio_to_ddp:.2f}x DDP"]
    steps += [] if best.row.plan == DDP else [f"{line.ratio_to_best_baseline:.2f}x {best.row.text}"]
    floor = "" if line.times_floor is None else f"; its step takes {line.times_floor:.2f}x the floor's"
    return f"{line.row.text}, {' and '.join(steps)} in steps per second{floor}"


def _speed(line: Line, ddp: Line, best: Line) -> str | None:
    """The plain word when a plan loses."""
    to_ddp, to_best = line.ratio_to_ddp or 0.0, line.ratio_to_best_baseline or 0.0
    if to_ddp < 1:
        return f"{line.row.text} LOSES to DDP: {to_ddp:.2f}x its speed{_overlap(line, ddp)}."
    if to_best < 1:
        lost = f"{to_best:.2f}x its speed{_overlap(line, best)}"
        return f"{line.row.text} beats DDP ({to_ddp:.2f}x) but LOSES to {_name(best)}: {lost}."
    return None


def _itself(line: Line) -> str:
    """Where `auto` keeps DDP, or could not choose."""
    ratio = line.ratio_to_ddp or 0.0
    if line.row.text.endswith(NOT_CHOSEN):
        return f"{line.row.text}: auto failed before it could choose. Both rows are the same program."
    return f"{line.row.text}: DDP is the answer. Both rows are the same program; {ratio:.2f}x is this machine's noise."


def _overlap(line: Line, other: Line) -> str:
    if line.step_s is None or other.step_s is None or line.runs < 2:
        return ""
    apart = line.step_s.min > other.step_s.max or other.step_s.min > line.step_s.max
    return "" if apart else " (their runs overlap, so this may be chance)"


def _noise(rows: Sequence[Line]) -> list[str]:
    """Nothing can be faster than a step that never talks; what seems to be says how far to trust the figures."""
    ahead = [line.row.text for line in rows if line.times_floor is not None and line.times_floor < BELOW_FLOOR]
    if not ahead:
        return []
    why = "The machine was busy with something else, or runs were too short; give --steps and --repeat more."
    return [f"Measured below the floor, which cannot be: {', '.join(ahead)}. {why}"]


def _worse_rows(rows: Sequence[Line], ddp: Line, until: Target | None) -> dict[str, str]:
    """By plan: what is wrong with its model."""
    metric = main_metric([ddp, *rows], until)
    reference = ddp.metrics.get(metric) if metric else None
    rising = higher_is_better(metric, until) if metric else None
    if metric is None or reference is None or rising is None:
        return {}
    others = [line for line in rows if line is not ddp and line.step_s and line.row.kind is not Kind.FLOOR]
    found = {line.row.plan: _worse(line, metric, reference, rising=rising) for line in others}
    return {plan: text for plan, text in found.items() if text}


def _as_good(rows: Sequence[Line], ddp: Line, until: Target | None) -> list[str]:
    """When nobody's model is worse: that, or why it cannot be known."""
    metric = main_metric([ddp, *rows], until)
    if metric is None:
        return ["Nothing was logged, so the models' quality is unknown: call laconic.log(accuracy=...) in the script."]
    reference, rising = ddp.metrics.get(metric), higher_is_better(metric, until)
    if reference is None:
        return [f"DDP has no finite {metric} at the end, so models cannot be compared with its own."]
    if rising is None:
        return [f"Whether more or less {metric} is better is not known here; --until would say it."]
    if not [line for line in rows if line.step_s and line is not ddp and line.row.kind is not Kind.FLOOR]:
        return []
    return [f"Every row's {metric} is within {_margin(reference, rising=rising)} of DDP's, or better."]


def _worse(line: Line, metric: str, reference: float, *, rising: bool) -> str | None:
    value = line.metrics.get(metric)
    if value is None:
        return f"{line.row.text} has no finite {metric} at the end: it diverged or logged nothing."
    lost = reference - value if rising else value - reference
    in_points = _in_points(reference, rising=rising)
    if lost <= (POINT if in_points else SHARE * abs(reference)):
        return None
    amount = f"{100 * lost:.1f} points" if in_points else _share(lost, reference)
    return f"{line.row.text} is WORSE than DDP: {metric} {value:.4g} against {reference:.4g}, by {amount}."


def _share(lost: float, reference: float) -> str:
    return f"{100 * lost / abs(reference):.1f}%" if reference else f"{lost:.3g}"


def _in_points(reference: float, *, rising: bool) -> bool:
    return rising and 0 <= reference <= 1


def _margin(reference: float, *, rising: bool) -> str:
    return "1 point" if _in_points(reference, rising=rising) else "2%"


def _target(rows: Sequence[Line], until: Target | None) -> list[str]:
    if until is None:
        return []
    ran = [line for line in rows if line.step_s is not None]
    names = {name for line in ran for name in line.metrics}
    if ran and until.metric not in names:
        logged = f"only {', '.join(sorted(names))}" if names else "nothing at all"
        return [f"No run logged {until.metric!r}, {logged}."]
    missed = [
        line.row.text
        for line in ran
        if line.row.kind is not Kind.FLOOR and line.reached and line.reached.seconds is None
    ]
    return [f"Not every run reached {until}: {', '.join(missed)}."] if missed else []


def _name(baseline: Line) -> str:
    return "DDP" if baseline.row.plan == DDP else f"the best baseline, {baseline.row.text}"


def _first_line(text: str | None) -> str:
    return (text or "").strip().splitlines()[0] if text and text.strip() else "it said nothing"

"""The comparison as text: one line of setting, one table, the verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from laconic.compare.lines import (
    BY_FLOOR,
    Comparison,
    Line,
    Reached,
    Setting,
    examples_per_s,
    lines,
    main_metric,
)
from laconic.compare.rows import Kind
from laconic.compare.verdict import verdict
from laconic.core.units import bytes_text, seconds_text

NONE = "-"
WIDTH = 120


def as_text(comparison: Comparison) -> str:
    rows = lines(comparison)
    parts = [title(comparison.setting), table(rows, comparison.setting), notes(rows)]
    parts.append("\n".join(wrapped(sentence) for sentence in verdict(comparison)))
    failures = [failure(line) for line in rows if line.failure is not None]
    return "\n\n".join([part for part in parts if part] + failures)


def title(setting: Setting) -> str:
    """What was compared on what, in one line."""
    task = " ".join((setting.task, *setting.args))
    where = f"{setting.hosts} processes over loopback"
    if setting.lab:
        where = f"{setting.hosts} emulated hosts " + (f"at {setting.rate}" if setting.rate else "with unlimited links")
    where += f" ({setting.link})" if setting.link else ""
    steps = f"{setting.steps} steps" if setting.steps else "as many steps as the script takes"
    times = "once" if setting.repeat == 1 else f"{setting.repeat} times, interleaved"
    return f"{task}: {where}, {steps}, each row {times}"


def table(rows: Sequence[Line], setting: Setting) -> str:
    head, body = columns(rows, setting)
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    return "\n".join(_aligned(cells, widths) for cells in (head, *body))


def columns(rows: Sequence[Line], setting: Setting) -> tuple[list[str], list[list[str]]]:
    """The table's head and cells as text; a column nobody can fill is left out."""
    metric = main_metric(rows, setting.until)
    on_interface = any(line.tx_bytes is not None for line in rows)
    head = ["plan", "step", "[min .. max]", "x DDP", "x best", "sent/step"]
    head += ["on interface"] if on_interface else []
    head += ["compute", "exposed"]
    apart = any(line.apart for line in rows)
    head += ["steps/s", *(["examples/s"] if setting.batch else [])] if apart else []
    head += [metric] if metric else []
    head += [f"time to {setting.until}", "bytes to it"] if setting.until else []
    body = [_cells(line, on_interface=on_interface) for line in rows]
    if apart:
        body = [cells + _paces(line, setting) for cells, line in zip(body, rows, strict=True)]
    if metric:
        body = [[*cells, _number(line.metrics.get(metric))] for cells, line in zip(body, rows, strict=True)]
    if setting.until:
        body = [cells + _to_target(line.reached, line.runs) for cells, line in zip(body, rows, strict=True)]
    return head, body


def _paces(line: Line, setting: Setting) -> list[str]:
    """Of all workers, where they do not keep step."""
    examples = [_rate(examples_per_s(line, setting))] if setting.batch else []
    return [_rate(line.steps_per_s), *examples]


def _cells(line: Line, *, on_interface: bool) -> list[str]:
    step = line.step_s
    spread = NONE if step is None else f"[{seconds_text(step.min)} .. {seconds_text(step.max)}]"
    star = "*" if line.exposed_by == BY_FLOOR else ""
    cells = [line.row.text + (" (floor)" if line.row.kind is Kind.FLOOR else "")]
    cells += [_failed(line) if step is None else seconds_text(step.median), spread]
    cells += [_ratio(line.ratio_to_ddp), _ratio(line.ratio_to_best_baseline), _bytes(line.wire_bytes)]
    cells += [_bytes(line.tx_bytes)] if on_interface else []
    return [*cells, _seconds(line.compute_s), _seconds(line.exposed_s) + star]


def _failed(line: Line) -> str:
    return "FAILED" if line.failure is not None else "not run"


def _to_target(reached: Reached | None, runs: int) -> list[str]:
    if reached is None:
        return [NONE, NONE]
    if reached.seconds is None:
        return ["not reached" if not reached.runs else f"{reached.runs} of {runs} runs", NONE]
    return [seconds_text(reached.seconds), _bytes(reached.wire_bytes)]


def notes(rows: Sequence[Line]) -> str:
    """What the columns mean; only what is needed to read this table."""
    text = (
        "step: mean over a plan's pattern of steps, median over repetitions. x DDP, x best: above 1 is faster than DDP "
        "and than the fastest baseline. sent/step: by one rank, our own count. exposed: the time a rank stood still "
        "for exchanges; compute: the rest, with the compressing that it hides."
    )
    if any(line.exposed_by == BY_FLOOR for line in rows):
        text += " *: DDP does not tell, so its step minus the floor's."
    if any(line.apart for line in rows):
        text += " Workers went at different paces: step is the slowest one's, steps/s are those of all together."
    return wrapped(text)


def failure(line: Line) -> str:
    return f"{line.row.text} FAILED. Its last words:\n{textwrap.indent((line.failure or '').strip(), '  | ')}"


def wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (
        f"{cell:{'<' if i == 0 else '>'}{width}}" for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *rest]).rstrip()


def _ratio(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def _bytes(value: float | None) -> str:
    return NONE if value is None else bytes_text(value)


def _seconds(value: float | None) -> str:
    return NONE if value is None else seconds_text(value)


def _rate(value: float | None) -> str:
    return NONE if value is None else f"{value:.3g}"


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.4f}"

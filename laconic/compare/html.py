"""The comparison as one page that needs nothing else: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from laconic.compare.lines import Comparison, Line, Result, lines, main_metric
from laconic.compare.measured import Point
from laconic.compare.rows import Kind
from laconic.compare.svg import COMPUTE, EXPOSED, Bar, Curve, bars, curves
from laconic.compare.table import columns, notes, title
from laconic.compare.verdict import verdict
from laconic.core.units import bytes_text, seconds_text

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#f3f5f7;--edge:#c9d0d6;--bad:#a40000}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--paper:#15181b;--soft:#20252a;--edge:#444c54;--bad:#ff8a80}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:70rem;margin:2rem auto;
padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2.5rem}h3{font-size:1rem;margin-bottom:.3rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}
caption{text-align:left;padding:.3rem 0}th,td{padding:.3rem .6rem;border-bottom:1px solid var(--edge);text-align:right;
white-space:nowrap}th:first-child,td:first-child{text-align:left}thead th{background:var(--soft)}
tr.plan th{font-weight:700}tr.baseline th,tr.floor th{font-weight:400}tr.failed td{color:var(--bad)}
.loses{color:var(--bad);font-weight:600}pre{background:var(--soft);padding:.8rem;overflow-x:auto;white-space:pre-wrap}
svg{max-width:100%;height:auto;font:12px system-ui,sans-serif}svg text{fill:var(--ink)}svg .grid{stroke:var(--edge)}
svg .name{font-weight:600}.key{display:inline-block;width:.8rem;height:.8rem;margin:0 .3rem 0 .8rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dt{font-weight:600}dd{margin:0}
""".replace("\n", "")
# nothing may be loaded or run, whatever a plan's text or a script's last words contain
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(comparisons: Sequence[Comparison], heading: str = "Plans side by side with DDP") -> str:
    body = "".join(section(comparison) for comparison in comparisons)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(heading)}</title><style>{STYLE}</style></head>"
        f"<body><main><h1>{escape(heading)}</h1>{body}</main></body></html>\n"
    )


def section(comparison: Comparison) -> str:
    rows, setting = lines(comparison), comparison.setting
    return (
        f"<section><h2>{escape(title(setting))}</h2>"
        f"<ul>{''.join(_sentence(text) for text in verdict(comparison))}</ul>"
        f"{_table(comparison, rows)}{_bars(rows)}{_curves(comparison, rows)}{_failures(rows)}{_about(comparison)}"
        "</section>"
    )


def _sentence(text: str) -> str:
    bad = any(word in text for word in (" LOSES ", " WORSE ", " failed: "))
    return f'<li class="loses">{escape(text)}</li>' if bad else f"<li>{escape(text)}</li>"


def _table(comparison: Comparison, rows: Sequence[Line]) -> str:
    head, body = columns(rows, comparison.setting)
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="Results"><table>'
        f"<caption>{escape(notes(rows))}</caption><thead><tr>{top}</tr></thead><tbody>"
        + "".join(_row(line, cells) for line, cells in zip(rows, body, strict=True))
        + "</tbody></table></div>"
    )


def _row(line: Line, cells: Sequence[str]) -> str:
    first, *rest = cells
    state = " failed" if line.failure is not None else ""
    slow = line.row.kind is Kind.PLAN and line.ratio_to_ddp is not None and line.ratio_to_ddp < 1
    lost = ' class="loses"' if slow else ""
    figures = "".join(f"<td>{escape(cell)}</td>" for cell in rest)
    return (
        f'<tr class="{line.row.kind.value}{state}"><th scope="row" title="{escape(line.row.plan)}"{lost}>'
        f"{escape(first)}</th>{figures}</tr>"
    )


def _bars(rows: Sequence[Line]) -> str:
    shown = [_bar(line) for line in rows if line.step_s is not None]
    if not shown:
        return ""
    key = "".join(
        f'<span class="key" style="background:{colour}"></span>{name}'
        for colour, name in ((COMPUTE, "compute"), (EXPOSED, "exposed communication"))
    )
    return f"<h3>A step's time</h3><p>{key}</p>{bars(shown, 'Seconds per step, split into compute and exposed')}"


def _bar(line: Line) -> Bar:
    assert line.step_s is not None, "the caller chose"
    exposed = line.exposed_s or 0.0
    return Bar(line.row.text, line.step_s.median - exposed, exposed, seconds_text(line.step_s.median))


def _curves(comparison: Comparison, rows: Sequence[Line]) -> str:
    metric = main_metric(rows, comparison.setting.until)
    results = [result for result in comparison.results if result.runs and result.failure is None]
    if metric is None or not results:
        return ""
    by_time = [_curve(result, i, metric, lambda point: point.seconds) for i, result in enumerate(results)]
    by_bytes = [_curve(result, i, metric, lambda point: point.wire_bytes) for i, result in enumerate(results)]
    return (
        f"<h3>{escape(metric)} against training time (first repetition)</h3>"
        + curves(_drawn(by_time), f"{metric} against time", seconds_text, "training time", metric)
        + f"<h3>{escape(metric)} against bytes a rank sent (first repetition)</h3>"
        + curves(_drawn(by_bytes), f"{metric} against bytes", bytes_text, "bytes sent by a rank", metric)
    )


def _curve(result: Result, number: int, metric: str, cost: Callable[[Point], float]) -> Curve:
    """Without points that cost nothing: a row that never sends has no place on an axis of bytes."""
    points = [(cost(point), point.metrics.get(metric)) for point in result.runs[0].points]
    return Curve(result.row.text, number, tuple((x, y) for x, y in points if x > 0 and y is not None))


def _drawn(rows: Sequence[Curve]) -> list[Curve]:
    return [row for row in rows if row.points]


def _failures(rows: Sequence[Line]) -> str:
    return "".join(
        f"<h3>{escape(line.row.text)} failed</h3><pre>{escape(line.failure)}</pre>"
        for line in rows
        if line.failure is not None
    )


def _about(comparison: Comparison) -> str:
    facts = {"command": comparison.setting.command, **comparison.setting.machine}
    entries = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items() if value)
    return f"<h3>How this was measured</h3><dl>{entries}</dl>"

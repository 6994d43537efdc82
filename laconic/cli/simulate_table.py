"""What `laconic simulate` says of each plan: a row of its table, an object of its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from laconic.core.units import bytes_text, seconds_text
from laconic.sim.pace import Pace

DECLARED = "declared"  # bytes as the compressor's own formula has them


def row(text: str, world: int, seen: Pace | None, problem: str | None) -> dict[str, Any]:
    if seen is None:
        return {"plan": text, "workers": world, "problem": problem}
    step = seen.step
    kept = {k: v for k, v in asdict(replace(step, spans=())).items() if k not in ("spans", "seconds", "alone_s")}
    return {
        "plan": text,
        "workers": world,
        "step_s": seen.seconds,
        "alone_s": seen.alone_s,
        "speedup": world * seen.alone_s / seen.seconds,
        "exposed_s": seen.exposed_s,
        "stragglers_s": seen.stragglers_s,
        "bottleneck": seen.bottleneck,
        **kept,
    }


def as_table(rows: Sequence[dict[str, Any]]) -> str:
    width = max(4, *(len(str(r["plan"])) for r in rows))
    names = "".join(f"  {name:>9}" for name in ("step", "speedup", "of ideal", "sent/step", "exposed"))
    head = f"{'plan':{width}}  {'workers':>7}{names}  limited by"
    return "\n".join([head, *(_line(r, width) for r in rows), *(line for r in rows for line in _notes(r))])


def _notes(r: dict[str, Any]) -> list[str]:
    """What a number rests on, where it is not counted message by message."""
    notes: list[str] = r.get("notes", [])
    return [f"  {r['plan']}, {r['workers']} workers: {note}." for note in notes if note != DECLARED]


def _line(r: dict[str, Any], width: int) -> str:
    start = f"{r['plan']!s:{width}}  {r['workers']:>7}"
    if "problem" in r:
        return f"{start}  {r['problem']}"
    step, speedup, sent, exposed = (r[k] for k in ("step_s", "speedup", "sent_bytes", "exposed_s"))
    return (
        f"{start}  {seconds_text(step):>9}  {speedup:9.2f}  {speedup / r['workers']:9.0%}  {bytes_text(sent):>9}  "
        f"{seconds_text(exposed):>9}  {r['bottleneck']}"
    )

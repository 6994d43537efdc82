"""Spans of all ranks as one Chrome trace (chrome://tracing, ui.perfetto.dev), on rank 0's clock.

    time on rank 0's clock = t + d(t),   d by straight lines between the readings of (t, d), flat outside them

A reading is NTP's: of several ping-pongs the one that came back fastest, d = answer - (sent + received) / 2; it is
wrong by at most half of that round trip. A process is a rank, a thread a thread: the one that trains first.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from laconic.core.errors import UsageError
from laconic.trace.spans import Span, Spans

Reading = tuple[float, float]


class PingPong(NamedTuple):
    sent: float  # by my clock
    answer: float  # by the other's
    received: float


class RankTrace(NamedTuple):
    rank: int
    spans: list[Span]
    readings: list[Reading]
    lost: int = 0


def reading(pings: Sequence[PingPong]) -> Reading:
    """When, and how far the other's clock is ahead."""
    best = min(pings, key=lambda p: p.received - p.sent)
    middle = (best.sent + best.received) / 2
    return middle, best.answer - middle


def ahead(readings: Sequence[Reading], t: float) -> float:
    if not readings:
        return 0.0
    times = [at for at, _ in readings]
    i = bisect_right(times, t)
    if i in (0, len(readings)):
        return readings[min(i, len(readings) - 1)][1]
    (t0, d0), (t1, d1) = readings[i - 1], readings[i]
    return d0 + (d1 - d0) * (t - t0) / (t1 - t0)


def aligned(trace: RankTrace) -> list[Span]:
    """On rank 0's clock."""
    return [
        s._replace(start=s.start + ahead(trace.readings, s.start), stop=s.stop + ahead(trace.readings, s.stop))
        for s in trace.spans
    ]


def chrome(traces: Iterable[RankTrace]) -> dict[str, Any]:
    """The JSON object format; microseconds from the first span of any rank."""
    by_rank = {t.rank: aligned(t) for t in traces}
    begin = min((s.start for spans in by_rank.values() for s in spans), default=0.0)
    events: list[dict[str, Any]] = []
    for rank, spans in sorted(by_rank.items()):
        threads = sorted({s.thread for s in spans}, key=lambda name: (name != "MainThread", name))
        events.append(_name("process_name", rank, 0, f"rank {rank}"))
        events += [_name("thread_name", rank, i, _label(name)) for i, name in enumerate(threads)]
        events += [_event(s, rank, threads.index(s.thread), begin) for s in spans]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _label(thread: str) -> str:
    return "training" if thread == "MainThread" else thread.removeprefix("laconic-")


def _name(kind: str, rank: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": rank, "tid": thread, "args": {"name": name}}


def _event(s: Span, rank: int, thread: int, begin: float) -> dict[str, Any]:
    args = {"step": s.step} | {k: v for k, v in (("bucket", s.bucket), ("chunk", s.chunk)) if v >= 0}
    at = {"name": s.name, "pid": rank, "tid": thread, "ts": round(1e6 * (s.start - begin), 3), "args": args}
    if s.stop == s.start:
        return at | {"ph": "i", "s": "t"}
    return at | {"ph": "X", "dur": round(1e6 * (s.stop - s.start), 3)}


def write_rank(path: Path, rank: int, spans: Spans) -> None:
    path.write_text(json.dumps({"rank": rank, "lost": spans.lost, "readings": spans.readings, "spans": spans.kept}))


def read_rank(path: Path) -> RankTrace:
    try:
        data = json.loads(path.read_text())
        spans = [Span(*row) for row in data["spans"]]
        return RankTrace(int(data["rank"]), spans, [(a, b) for a, b in data["readings"]], int(data["lost"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is not a rank's trace: {error}.") from error


def part(out: Path, rank: int) -> Path:
    """Where a rank leaves its spans until they are merged."""
    return out.with_name(f"{out.name}.rank{rank}")


def parts(out: Path) -> list[Path]:
    return sorted(out.parent.glob(f"{out.name}.rank*"))

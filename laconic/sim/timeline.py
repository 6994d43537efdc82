"""A simulated step as a Chrome trace: one row a thread, one colour a resource."""

from __future__ import annotations

from collections.abc import Iterable

from laconic.core.files import json_text
from laconic.sim.fluid import Span


def chrome(spans: Iterable[Span]) -> str:
    """For chrome://tracing and ui.perfetto.dev; times in microseconds."""
    events = [
        {
            "name": s.name or s.on.value,
            "cat": s.on.value,
            "ph": "X",
            "ts": s.start * 1e6,
            "dur": (s.end - s.start) * 1e6,
            "pid": 0,
            "tid": f"{s.actor} {s.on.value}" if s.actor != "main" else "main",
        }
        for s in spans
    ]
    return json_text({"traceEvents": events, "displayTimeUnit": "ms"})

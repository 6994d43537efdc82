"""Ranks with clocks of their own end in one trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from laconic.core.clock import ManualClock
from laconic.core.errors import UsageError
from laconic.trace.merge import PingPong, RankTrace, ahead, chrome, part, parts, read_rank, reading, write_rank
from laconic.trace.spans import Span, Spans


def test_the_fastest_ping_tells_the_offset():
    # My clock is 100 behind; the second ping was held up on its way back.
    pings = [PingPong(10.0, 110.5, 11.0), PingPong(20.0, 120.5, 25.0)]
    assert reading(pings) == (10.5, 100.0)


def test_between_two_readings_clocks_drift_in_a_straight_line():
    readings = [(0.0, 1.0), (10.0, 2.0)]
    assert [ahead(readings, t) for t in (-5, 0, 5, 10, 99)] == [1.0, 1.0, 1.5, 2.0, 2.0]
    assert ahead([], 3.0) == 0.0


def test_one_moment_on_two_clocks_is_one_moment_in_the_trace():
    here = RankTrace(0, [Span("wire", 5.0, 6.0, "laconic-lane0", 3, 1, 0)], [(0.0, 0.0)])
    there = RankTrace(1, [Span("wire", 1005.0, 1006.0, "laconic-lane0", 3, 1, 0)], [(1000.0, -1000.0)])
    events = [e for e in chrome([there, here])["traceEvents"] if e["ph"] == "X"]
    assert [(e["pid"], e["ts"], e["dur"]) for e in events] == [(0, 0.0, 1e6), (1, 0.0, 1e6)]
    assert events[0]["args"] == {"step": 3, "bucket": 1, "chunk": 0}


def test_the_training_thread_comes_first_and_moments_are_marks():
    spans = [Span("ready", 1.0, 1.0, "MainThread", 0, 2), Span("wire", 0.0, 1.0, "laconic-lane1", 0, 2)]
    events = chrome([RankTrace(0, spans, [])])["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert names == {0: "training", 1: "lane1"}
    assert [e["ph"] for e in events if e["name"] == "ready"] == ["i"]


def test_what_a_rank_wrote_is_what_is_read(tmp_path: Path):
    clock = ManualClock()
    spans = Spans(clock, most=2)
    spans.readings.append((0.0, 0.25))
    for step in range(3):
        with spans.span("wait", step, bucket=4):
            clock.advance(1.0)
    out = tmp_path / "trace.json"
    write_rank(part(out, 7), 7, spans)
    assert parts(out) == [part(out, 7)]
    back = read_rank(part(out, 7))
    assert back.rank == 7
    assert back.lost == 1
    assert back.readings == [(0.0, 0.25)]
    assert [(s.name, s.start, s.stop, s.bucket) for s in back.spans] == [("wait", 0.0, 1.0, 4), ("wait", 1.0, 2.0, 4)]


def test_a_file_that_is_no_trace_is_refused(tmp_path: Path):
    (tmp_path / "x").write_text("{}")
    with pytest.raises(UsageError, match="not a rank's trace"):
        read_rank(tmp_path / "x")

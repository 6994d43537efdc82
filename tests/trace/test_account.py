"""Exposed communication and compute add up to the time of a step."""

from __future__ import annotations

import pytest

from laconic.trace.account import account, union
from laconic.trace.spans import Span


def _step(begin: float, *, gap: float = 0.0) -> list[Span]:
    """Ten seconds: six of compute, of which one waits at a gate, three of waiting at the end, half of the optimizer."""
    t = "MainThread"
    return [
        Span("compute", begin, begin + 6, t, 0),
        Span("wait", begin + 1, begin + 2, t, 0),
        Span("wait", begin + 6, begin + 9, t, 0),
        Span("apply", begin + 9, begin + 9.5, t, 0),
        Span("optimizer", begin + 9.5, begin + 10 + gap, t, 0),
        Span("wire", begin, begin + 9, "laconic-lane0", 0),  # of another thread: hidden or not, it is in the waits
    ]


def test_exposed_and_compute_are_the_whole_step():
    found = account([s for k in range(5) for s in _step(10.0 * k)], skip=1)
    assert found is not None
    assert found.steps == 3
    assert found.step_s == pytest.approx(10)
    assert found.exposed_s == pytest.approx(4)
    assert found.compute_s == pytest.approx(6)
    assert found.adds_up
    assert "adds up" in str(found)


def test_a_step_with_time_nobody_saw_is_reported():
    spans = [s for k in range(5) for s in _step(11.0 * k)]  # a second between two steps that no span covers
    found = account(spans, skip=0)
    assert found is not None
    assert found.rest == pytest.approx(1 / 11)
    assert not found.adds_up
    assert "NOT" in str(found)


def test_too_few_steps_have_no_account():
    assert account(_step(0.0)) is None
    assert account([]) is None


def test_overlapping_ranges_count_once():
    assert union([(3, 4), (0, 2), (1, 3.5)]) == [(0, 4)]
    assert union([(0, 1), (2, 3)]) == [(0, 1), (2, 3)]

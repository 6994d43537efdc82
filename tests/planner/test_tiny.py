from __future__ import annotations

from dataclasses import replace

import pytest

from laconic.planner import tiny
from laconic.planner.network_file import NetworkTable
from laconic.planner.search import planner_of
from laconic.sim.collective import Curve
from laconic.sim.network import Line

FLAT = Curve((256.0, 1e6), (0.002, 0.002))
NETWORK = NetworkTable(4, 1, 4, dict.fromkeys(("reduce", "gather", "deal", "post"), FLAT), {}, Line(1e-4, 1e-9))


def _predicted(network: NetworkTable, text: str) -> float:
    found = planner_of(tiny.table(0.001), network).predict(text, 4)
    assert found is not None
    return found.step.seconds


def test_what_tables_do_not_explain_is_waiting() -> None:
    seen = {tiny.ALONE: 0.001, tiny.SUM: 0.010, tiny.LANE: 0.030}
    found = tiny.waits(NETWORK, seen)
    assert found.sum_wait_s > 0
    assert found.lane_wait_s > 0
    for text in (tiny.SUM, tiny.LANE):
        assert _predicted(found, text) == pytest.approx(seen[text], rel=0.02)


def test_steps_faster_than_the_tables_leave_nothing_to_wait_for() -> None:
    before = replace(NETWORK, sum_wait_s=1.0, lane_wait_s=1.0)
    found = tiny.waits(before, {tiny.ALONE: 0.001, tiny.SUM: 0.001, tiny.LANE: 0.001})
    assert (found.sum_wait_s, found.lane_wait_s) == (0.0, 0.0)


def test_the_model_is_the_one_that_is_measured() -> None:
    table = tiny.table(0.003)
    assert table.step_s == pytest.approx(0.003)
    assert table.numel == tiny.LAYERS * (tiny.WIDTH * tiny.WIDTH + tiny.WIDTH)
    assert [w.ready for w in table.weights] == list(reversed(range(2 * tiny.LAYERS)))

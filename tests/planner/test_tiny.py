from __future__ import annotations

from dataclasses import replace

import pytest

from laconic.planner import tiny
from laconic.planner.network_file import NetworkTable
from laconic.planner.search import planner_of
from laconic.sim.collective import Curve
from laconic.sim.machine import LaneCost
from laconic.sim.network import Line

FLAT = Curve((256.0, 1e6), (0.002, 0.002))
NETWORK = NetworkTable(4, 1, 4, dict.fromkeys(("reduce", "gather", "deal", "post"), FLAT), {}, Line(1e-4, 1e-9))


def _predicted(network: NetworkTable, text: str) -> float:
    found = planner_of(tiny.table(0.001), network).predict(text, 4)
    assert found is not None
    return found.step.seconds


def _seen(alone: float, one: float, each: float, lane: float) -> dict[str, tuple[float, float]]:
    """Seconds on a core, which a step takes twice as long as."""
    found = {tiny.ALONE: alone, tiny.COLD: alone, tiny.SUM: one, tiny.EACH: each}
    found |= dict.fromkeys(tiny.LANES.values(), lane)
    return {plan: (2 * seconds, seconds) for plan, seconds in found.items()}


def test_what_tables_do_not_explain_is_work_and_waiting() -> None:
    seen = _seen(0.001, 0.005, 0.016, 0.015)
    found = tiny.explained(NETWORK, seen)
    assert found.exchange_s == pytest.approx(0.001, rel=0.02)  # eleven more of them
    assert found.step_s == pytest.approx(0.003, rel=0.02)
    assert found.sum_wait_s > 0
    assert found.lane_costs.keys() == {"gather", "reduce", "deal"}
    assert all(cost.cpu_s > 0 and cost.wait_s > 0 for cost in found.lane_costs.values())
    for text in (tiny.SUM, *tiny.LANES.values()):
        assert _predicted(found, text) == pytest.approx(seen[text][0], rel=0.02)


def test_steps_cheaper_than_the_tables_leave_nothing_to_explain() -> None:
    costs = {"gather": LaneCost(1.0, 1.0)}
    before = replace(NETWORK, step_s=1.0, exchange_s=1.0, sum_wait_s=1.0, lane_costs=costs)
    found = tiny.explained(before, _seen(0.001, 0.001, 0.001, 0.001))
    assert (found.step_s, found.exchange_s, found.sum_wait_s) == (0.0,) * 3
    assert set(found.lane_costs.values()) == {LaneCost()}


def test_the_model_is_the_one_that_is_measured() -> None:
    table = tiny.table(0.003)
    assert table.step_s == pytest.approx(0.003)
    assert table.numel == tiny.LAYERS * (tiny.WIDTH * tiny.WIDTH + tiny.WIDTH)
    assert [w.ready for w in table.weights] == list(reversed(range(2 * tiny.LAYERS)))

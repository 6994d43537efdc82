"""What coding costs is measured in proportion to elements."""

from __future__ import annotations

import pytest

from laconic.drive.asked import Asked, Kind, Told
from laconic.plan import Plan
from laconic.planner.coding import WORLD, coding_of, solved
from laconic.sim.machine import spread


@pytest.mark.parametrize("kinds", [(Kind.GATHER,), (Kind.DEAL, Kind.GATHER), (Kind.REDUCE, Kind.REDUCE)])
def test_what_was_measured_is_what_is_predicted(kinds: tuple[Kind, ...]) -> None:
    told = Told(tuple((Asked(k, 100),) for k in kinds), "sampled")
    seen = (3.0, *([0.0] * (len(kinds) - 1)), 5.0)
    found = solved(told, seen, 1000)
    assert sum(spread(found, 1000, told, WORLD)) == pytest.approx(sum(seen))


def test_a_real_compressor_costs_something_and_none_costs_nothing() -> None:
    assert coding_of(Plan.parse("none").compress).encode_s == 0.0
    found = coding_of(Plan.parse("ef(topk(0.01))").compress, side=64, turns=1)
    assert found.encode_s > 0

"""Halves of an all-reduce take what the player finds."""

from __future__ import annotations

import pytest

from laconic.core.errors import PlanError
from laconic.sim import closed
from laconic.sim.closed_halves import all_gather_s, reduce_scatter_s
from laconic.sim.network import Line, Network
from laconic.sim.play import play, rotated
from laconic.topology.programs import HALVES, all_gather, reduce_scatter

LINE = Line(3.0, 0.25)
GAMMA = 0.125
SIZE = 5040  # bytes; divides by 2 .. 10


@pytest.mark.parametrize("world", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("name", [n for n in HALVES if n not in closed.WITHOUT])
def test_a_half_takes_what_its_closed_form_says(name: str, world: int) -> None:
    if name == "halving_doubling" and world & (world - 1):
        with pytest.raises(PlanError, match="power of two"):
            all_gather_s(name, world, SIZE, LINE)
        return
    first = rotated([reduce_scatter(name, r, world, SIZE) for r in range(world)])
    second = rotated([all_gather(name, r, world, SIZE) for r in range(world)])
    seen = play(first, Network(LINE), 1, gamma_s=GAMMA).seconds
    assert seen == pytest.approx(reduce_scatter_s(name, world, SIZE, LINE, gamma_s=GAMMA))
    seen = play(second, Network(LINE), 1, gamma_s=GAMMA).seconds
    assert seen == pytest.approx(all_gather_s(name, world, SIZE, LINE))


def test_halves_of_a_ring_by_hand() -> None:
    """Four workers, 1000 bytes: three messages of 250."""
    assert reduce_scatter_s("ring", 4, 1000, LINE, gamma_s=GAMMA) == pytest.approx(3 * 3.0 + 750 * (0.25 + 0.125))
    assert all_gather_s("ring", 4, 1000, LINE) == pytest.approx(3 * 3.0 + 750 * 0.25)
    assert all_gather_s("ring", 4, 1000, LINE) == pytest.approx(closed.gather_s(4, 250, LINE))


@pytest.mark.parametrize("name", ["tree", "mesh"])
def test_who_has_no_halves_is_refused(name: str) -> None:
    with pytest.raises(PlanError, match=r"Take one of|Play it instead"):
        reduce_scatter_s(name, 4, SIZE, LINE)

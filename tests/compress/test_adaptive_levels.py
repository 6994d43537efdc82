from __future__ import annotations

import pytest
import torch

from laconic.compress import ALQ, AMQ
from laconic.compress.adaptive_levels import BINS, Distribution
from laconic.core.errors import PlanError
from tests.laws.world import World


def uniform() -> Distribution:
    """r evenly spread over 0 .. 1."""
    edges = torch.tensor(Distribution.edges)
    found = Distribution.of(edges[1:] - edges[:-1])
    assert found is not None
    return found


def test_moments_of_an_even_spread():
    assert uniform().upto(0.5) == pytest.approx((1 / 2, 1 / 8, 1 / 24))
    assert uniform().inverse(0.3) == pytest.approx(0.3)


def test_the_variance_by_hand():
    assert uniform().variance((0.0, 1.0)) == pytest.approx(1 / 6)  # of r (1 - r)
    assert uniform().variance((0.5, 1.0)) == pytest.approx(1 / 12 + 1 / 48)  # of 1/4 - r^2, of (r - 1/2)(1 - r)


def test_nothing_counted_is_no_distribution():
    assert Distribution.of(torch.zeros(BINS)) is None


@pytest.mark.parametrize("compressor", [ALQ(3, block=64, refresh=2), AMQ(3, block=64, refresh=2)], ids=str)
def test_levels_change_when_they_are_due_and_are_the_same_everywhere(compressor: ALQ | AMQ):
    world = World(compressor, 3)
    first = world.states[0].magnitudes
    world.exchange(world.inputs(0), 0)
    assert torch.equal(world.states[0].magnitudes, first)
    world.exchange(world.inputs(1), 1)
    assert not torch.equal(world.states[0].magnitudes, first)
    assert all(torch.equal(s.magnitudes, world.states[0].magnitudes) for s in world.states)


@pytest.mark.parametrize("compressor", [ALQ(3, block=64, refresh=1), AMQ(3, block=64, refresh=1)], ids=str)
def test_zeros_and_equal_elements_leave_usable_levels(compressor: ALQ | AMQ):
    world = World(compressor, 2)
    for step, value in enumerate((0.0, 1.0, 1.0)):
        out = world.exchange([torch.full((world.spec.numel,), value)] * 2, step)
        assert out[0].mean.isfinite().all()
        assert (world.states[0].magnitudes.diff() > 0).all()


@pytest.mark.parametrize("kind", [ALQ, AMQ])
def test_settings_that_cannot_work_are_refused(kind: type[ALQ]):
    for bad, why in (({"bits": 9}, "2 to 6"), ({"refresh": 0}, "from 1 up"), ({"block": 9}, "multiple of 8")):
        with pytest.raises(PlanError, match=why):
            kind(**bad)

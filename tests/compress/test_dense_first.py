from __future__ import annotations

import pytest
import torch

from laconic.compress import DenseFirst, ErrorFeedback, Identity, Momentum, Sign, TopK
from laconic.core.errors import PlanError
from tests.laws.world import World


@pytest.mark.parametrize("compressor", [DenseFirst(Sign(), steps=3), ErrorFeedback(DenseFirst(Sign(), steps=3))])
def test_the_first_steps_are_those_of_no_compression(compressor: DenseFirst | ErrorFeedback):
    ours, dense = World(compressor, 3, "gather"), World(Identity(), 3)
    for step in range(5):
        a, b = ours.exchange(ours.inputs(step), step), dense.exchange(dense.inputs(step), step)
        assert torch.equal(a[0].mean, b[0].mean) is (step < 3)


def test_the_memory_is_empty_until_then():
    world = World(ErrorFeedback(DenseFirst(TopK(0.1), steps=2)), 2, "gather")
    for step in range(3):
        assert not world.states[0].residual.any()
        world.exchange(world.inputs(step), step)
    assert world.states[0].residual.any()


def test_under_momentum_it_stands_inside():
    world, plain = World(Momentum(DenseFirst(TopK(0.1), steps=3)), 1, "gather"), World(Momentum(Identity()), 1)
    for step in range(3):
        a, b = world.exchange(world.inputs(step), step), plain.exchange(plain.inputs(step), step)
        assert torch.equal(a[0].mean, b[0].mean)
    with pytest.raises(PlanError, match=r"momentum\(dense_first"):
        DenseFirst(Momentum(TopK(0.1)))


@pytest.mark.parametrize("bad", [(Sign(), 0), (Identity(), 10)])
def test_what_has_no_effect_is_refused(bad: tuple[Sign, int]):
    with pytest.raises(PlanError, match="dense_first"):
        DenseFirst(*bad)

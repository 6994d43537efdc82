from __future__ import annotations

import pytest
import torch

from laconic.compress import QSGD, EFAveraged, ErrorFeedback, Identity, TopK
from laconic.core.errors import PlanError
from laconic.core.exchange import Mean
from tests.laws.test_promises import asked
from tests.laws.world import World
from tests.zoo import BUCKET


def test_averaging_keeps_the_sum_of_all_errors_and_makes_them_equal():
    plain, averaged = World(ErrorFeedback(TopK(0.1)), 3), World(EFAveraged(TopK(0.1), every=2), 3)
    for step in range(2):
        for world in (plain, averaged):
            world.exchange(world.inputs(step), step)
    errors = torch.stack([s.residual for s in averaged.states])
    assert torch.equal(errors[0], errors[1])
    assert torch.equal(errors[0], errors[2])
    before = torch.stack([s.residual for s in plain.states])
    assert not torch.allclose(before[0], before[1])
    assert torch.allclose(errors.mean(0), before.mean(0), atol=1e-6)


def test_what_is_applied_and_what_waits_is_all_there_was():
    world, came, applied = World(EFAveraged(TopK(0.05), every=2), 4), 0, 0
    for step in range(6):
        xs = world.inputs(step)
        out = world.exchange(xs, step)
        came, applied = came + torch.stack(xs).mean(0), applied + out[0].mean
    waits = torch.stack([s.residual for s in world.states]).mean(0)
    assert torch.allclose(applied + waits, came, atol=1e-5)


def test_between_two_averages_it_is_error_feedback():
    worlds = [World(c, 3) for c in (ErrorFeedback(QSGD(4)), EFAveraged(QSGD(4), every=10))]
    for step in range(3):
        a, b = (w.exchange(w.inputs(step), step)[0] for w in worlds)
        assert torch.equal(a.mean, b.mean)


def test_only_the_step_that_averages_asks_once_more():
    assert not any(isinstance(q, Mean) for q in asked(EFAveraged(TopK(0.1), every=10), BUCKET))
    assert isinstance(asked(EFAveraged(TopK(0.1), every=1), BUCKET)[-1], Mean)


def test_what_cannot_work_is_refused():
    with pytest.raises(PlanError, match="from 1 up"):
        EFAveraged(TopK(0.1), every=0)
    with pytest.raises(PlanError, match="Use none"):
        EFAveraged(Identity())

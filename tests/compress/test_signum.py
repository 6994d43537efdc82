from __future__ import annotations

import pytest
import torch

from laconic.compress import Majority, Signum
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World


def test_the_momentum_votes():
    world = World(Signum(0.9), 1, "gather", one_tensor(2))
    first = world.exchange([torch.tensor([10.0, -1.0])], 0)[0]
    second = world.exchange([torch.tensor([-1.0, 2.0])], 1)[0]
    assert first.mean.tolist() == [1.0, -1.0]
    assert second.mean.tolist() == [1.0, 1.0]  # m = (0.9 - 0.1, -0.09 + 0.2)
    assert world.states[0].m.tolist() == pytest.approx([0.8, 0.11])


def test_without_momentum_it_is_majority_vote():
    ours, theirs = World(Signum(0), 3), World(Majority(), 3)
    for step in range(3):
        a = ours.exchange(ours.inputs(step), step)
        b = theirs.exchange(theirs.inputs(step), step)
        assert torch.equal(a[0].mean, b[0].mean)


@pytest.mark.parametrize("beta", [-0.1, 1.0])
def test_a_momentum_that_forgets_nothing_is_refused(beta: float):
    with pytest.raises(PlanError, match="below 1"):
        Signum(beta)

from __future__ import annotations

import pytest
import torch

from laconic.compress import EFDecay, ErrorFeedback, Identity, TopK
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise

FOUR = one_tensor(4)


def test_a_memory_that_keeps_half_by_hand():
    world = World(EFDecay(TopK(0.25), beta=0.5), 1, "gather", FOUR)
    x = torch.tensor([8.0, 4.0, 0.0, 0.0])
    said = [world.exchange([x if step == 0 else torch.zeros(4)], step)[0].mean.tolist() for step in range(2)]
    assert said == [[8, 0, 0, 0], [0, 2, 0, 0]]  # half of the 4 is forgotten


def test_without_decay_it_is_error_feedback():
    decayed, plain = World(EFDecay(TopK(0.1), beta=1.0), 2, "gather"), World(ErrorFeedback(TopK(0.1)), 2, "gather")
    for step in range(4):
        a, b = decayed.exchange(decayed.inputs(step), step), plain.exchange(plain.inputs(step), step)
        assert torch.equal(a[0].mean, b[0].mean)


def test_with_beta_zero_it_is_the_compressor_alone():
    decayed, plain = World(EFDecay(TopK(0.1), beta=0.0), 2, "gather"), World(TopK(0.1), 2, "gather")
    for step in range(4):
        a, b = decayed.exchange(decayed.inputs(step), step), plain.exchange(plain.inputs(step), step)
        assert torch.equal(a[0].mean, b[0].mean)


def test_what_was_sent_leaked_and_kept_is_what_came_in():
    beta, spec = 0.8, one_tensor(40)
    world = World(EFDecay(TopK(0.1), beta=beta), 1, "gather", spec)
    came, sent, leaked = torch.zeros(3, 40, dtype=torch.float64)
    for step in range(30):
        x = noise(40, step)
        leaked += (1 - beta) * world.states[0].residual.double()
        sent += world.exchange([x], step)[0].sent.double()
        came += x.double()
    assert torch.allclose(sent + leaked + world.states[0].residual, came, atol=1e-5)
    assert float(leaked.norm()) > 1


def test_gamma_weighs_what_comes_in():
    (out,) = World(EFDecay(TopK(1.0), gamma=0.5), 1, "gather", FOUR).exchange([torch.tensor([4.0, 2, 0, 0])])
    assert out.mean.tolist() == [2, 1, 0, 0]


@pytest.mark.parametrize("bad", [{"beta": 1.1}, {"beta": -0.1}, {"gamma": 0.0}])
def test_shares_out_of_range_are_refused(bad: dict[str, float]):
    with pytest.raises(PlanError, match="ef_decay"):
        EFDecay(TopK(0.1), **bad)


@pytest.mark.parametrize("inner", [Identity(), ErrorFeedback(TopK(0.1))])
def test_a_memory_without_a_use_is_refused(inner: object):
    with pytest.raises(PlanError, match="Use "):
        EFDecay(inner)  # type: ignore[arg-type]

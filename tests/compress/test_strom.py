from __future__ import annotations

import pytest
import torch

from laconic.compress import ErrorFeedback, Strom, TopK
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World


def test_only_tau_is_said_however_large_the_element():
    world = World(Strom(1, unit="absolute"), 1, "gather", one_tensor(4))
    out = world.exchange([torch.tensor([5.0, -1.5, 1.0, 0.2])])[0]
    assert out.mean.tolist() == [1.0, -1.0, 0.0, 0.0]
    assert world.states[0].residual.tolist() == pytest.approx([4.0, -0.5, 1.0, 0.2])


def test_a_constant_element_is_said_every_so_many_steps_and_nothing_is_lost():
    world, c, steps = World(Strom(1, unit="absolute"), 1, "gather", one_tensor(1)), 0.25, 101
    sent = sum(float(world.exchange([torch.tensor([c])], step)[0].sent) for step in range(steps))
    assert sent + float(world.states[0].residual) == steps * c  # exactly: quarters
    assert sent == 25.0  # a step more would be needed to pass tau once more


def test_where_nothing_is_beyond_tau_the_message_is_empty():
    world = World(Strom(9, unit="absolute"), 2, "gather", one_tensor(1000))
    out = world.exchange(world.inputs())
    assert not out[0].mean.any()
    assert world.links[0].sent_bytes == 8 + 24 + 4  # its length, the header, tau


def test_a_sent_element_is_a_word_of_four_bytes():
    x = torch.zeros(1000)
    x[[3, 999]] = torch.tensor([2.0, -2.0])
    world = World(Strom(1, unit="absolute"), 2, "gather", one_tensor(1000))
    out = world.exchange([x, x.clone()])
    assert torch.equal(out[0].mean, x / 2)
    assert world.links[0].sent_bytes == 8 + 24 + 4 + 2 * 4


def test_a_tau_too_small_costs_no_more_than_three_values_packed():
    world = World(Strom(1e-6, unit="absolute"), 2, "gather", one_tensor(1000))
    out = world.exchange(world.inputs())
    assert torch.equal(out[0].sent, 1e-6 * world.inputs()[0].sign())
    assert world.links[0].sent_bytes == 8 + 24 + 4 + 200
    assert Strom().payload_bits(one_tensor(1000)) == 8 * 204


def test_tau_may_follow_the_size_of_the_gradient():
    x = torch.tensor([3.0, 4.0, 0.0, 0.0])  # rms 2.5
    for scale in (1.0, 1e-30, 1e30):
        (out,) = World(Strom(1.5), 1, "gather", one_tensor(4)).exchange([x * scale])
        assert (out.mean / scale).tolist() == pytest.approx([0.0, 3.75, 0.0, 0.0])


def test_a_second_memory_or_a_selection_before_it_is_refused():
    with pytest.raises(PlanError, match="already remembers"):
        ErrorFeedback(Strom())
    with pytest.raises(PlanError, match="remembers every element"):
        TopK(0.1) | Strom()


@pytest.mark.parametrize("tau", [0.0, -1.0, float("nan")])
def test_a_threshold_that_is_none_is_refused(tau: float):
    with pytest.raises(PlanError, match="above 0"):
        Strom(tau)

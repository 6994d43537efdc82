from __future__ import annotations

import pytest
import torch

from laconic.compress import ErrorFeedback, Sign
from laconic.core.bucket import one_tensor
from tests.laws.world import World
from tests.zoo import noise


def test_one_bit_and_the_mean_magnitude():
    x = torch.tensor([1.0, -3.0, 0.0, -4.0])
    (out,) = World(Sign(), 1, "gather", one_tensor(4)).exchange([x])
    assert out.mean.tolist() == [2.0, -2.0, 2.0, -2.0]  # the sign of zero is +


def test_the_last_block_is_averaged_over_its_own_length():
    x = torch.tensor([1.0] * 8 + [6.0, -2.0])
    (out,) = World(Sign(block=8), 1, "gather", one_tensor(10)).exchange([x])
    assert out.mean.tolist() == [1.0] * 8 + [4.0, -4.0]


def test_votes_are_averaged_not_counted():
    xs = [torch.tensor([1.0, -1.0]), torch.tensor([3.0, 3.0])]
    out = World(Sign(), 2, "gather", one_tensor(2)).exchange(xs)
    assert out[0].mean.tolist() == [2.0, 1.0]


def test_an_eighth_of_a_byte_an_element():
    assert Sign().payload_bits(one_tensor(4096)) == 4096 + 64
    assert Sign().payload_bits(one_tensor(9)) == 16 + 32


def test_in_an_error_memory_what_the_sign_got_wrong_is_said_later():
    world = World(ErrorFeedback(Sign()), 1, "gather", one_tensor(2))
    said = [world.exchange([x], step)[0].mean for step, x in enumerate((torch.tensor([3.0, 1.0]), torch.zeros(2)))]
    assert said[0].tolist() == [2.0, 2.0]
    assert said[1].tolist() == [1.0, -1.0]  # the residual was exactly (1, -1)
    assert world.states[0].residual.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("n", [8, 1024])
def test_the_claimed_contraction_is_reached_by_a_spike(n: int):
    x = torch.zeros(n)
    x[0] = 1.0
    (out,) = World(Sign(), 1, "gather", one_tensor(n)).exchange([x])
    lost = float((out.sent - x).pow(2).sum())
    assert lost == pytest.approx(1 - 1 / n)


def test_what_is_lost_is_exactly_what_the_mean_magnitude_does_not_explain():
    """|p - C(p)|^2 = |p|^2 - |p|_1^2 / d, so delta = |p|_1^2 / (d |p|^2): here as close as float32 sums are."""
    p = noise(1000, 3)
    (out,) = World(Sign(block=1000), 1, "gather", one_tensor(1000)).exchange([p])
    p, lost = p.double(), (out.sent.double() - p.double()).pow(2).sum()
    assert float(lost) == pytest.approx(float(p.pow(2).sum() - p.abs().sum() ** 2 / 1000), rel=1e-6)


def test_equal_magnitudes_are_said_without_loss():
    p = 0.25 * noise(64, 4).sign()
    (out,) = World(Sign(), 1, "gather", one_tensor(64)).exchange([p])
    assert torch.equal(out.sent, p)

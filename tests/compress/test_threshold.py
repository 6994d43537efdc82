from __future__ import annotations

import pytest
import torch

from laconic.compress import ErrorFeedback, Fp16, Threshold
from laconic.compress.base import Draw
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.core.rng import Stream
from tests.laws.world import World
from tests.zoo import noise

DRAW = Draw(Stream(1), Stream(2))


def test_what_reaches_the_level_is_said_exactly():
    x = torch.tensor([0.5, -0.49, 0.0, -3.0])
    (out,) = World(Threshold(0.5), 1, "gather", one_tensor(4)).exchange([x])
    assert out.sent.tolist() == [0.5, 0, 0, -3]


def test_an_all_negative_vector_is_judged_by_magnitude():
    x = -torch.arange(1.0, 1001.0)
    assert Threshold(901).select(x, DRAW).numel() == 100


def test_the_error_is_at_most_the_level_for_each_element_left_out():
    x = noise(1000, 4)
    (out,) = World(Threshold(0.7), 1, "gather", one_tensor(1000)).exchange([x.clone()])
    left = int((out.sent == 0).count_nonzero())
    assert float((x - out.sent).pow(2).sum()) <= left * 0.7**2
    assert out.sent.count_nonzero() == 1000 - left


def test_nothing_and_everything_can_be_said():
    (nothing,) = World(Threshold(9), 1, "gather", one_tensor(100)).exchange([noise(100)])
    assert not nothing.sent.any()
    (all_,) = World(Threshold(1e-9), 1, "gather", one_tensor(100)).exchange([noise(100)])
    assert torch.equal(all_.sent, noise(100))
    assert Threshold(1e-9).payload_bits(one_tensor(100)) == 100 * 32  # never longer than the dense bucket


def test_a_small_element_is_said_when_it_has_added_up():
    world = World(ErrorFeedback(Threshold(1.0)), 1, "gather", one_tensor(1))
    said = [float(world.exchange([torch.tensor([0.375])], step)[0].sent) for step in range(6)]
    assert said == [0, 0, 1.125, 0, 0, 1.125]


def test_values_may_be_written_by_another_codec():
    (out,) = World(Threshold(1) | Fp16(), 1, "gather", one_tensor(4)).exchange([torch.tensor([2049.0, 0.5, -3, 0])])
    assert out.sent.tolist() == [2048, 0, -3, 0]


@pytest.mark.parametrize("level", [0, -1.0, float("inf"), float("nan")])
def test_a_level_that_selects_everything_or_nothing_is_refused(level: float):
    with pytest.raises(PlanError, match="must be above 0"):
        Threshold(level)

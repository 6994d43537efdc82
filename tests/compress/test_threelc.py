from __future__ import annotations

import pytest
import torch

from laconic.compress import ErrorFeedback, ThreeLC, TopK
from laconic.core.bucket import one_tensor
from laconic.core.errors import PayloadError, PlanError
from tests.laws.world import World
from tests.zoo import noise


def test_each_element_goes_to_the_nearest_of_three():
    x = torch.tensor([2.0, -0.9, -1.1, 0.0])
    (out,) = World(ThreeLC(), 1, "gather", one_tensor(4)).exchange([x])
    assert out.mean.tolist() == [2.0, 0.0, -2.0, 0.0]  # the largest is kept as it is


def test_a_larger_multiplier_keeps_fewer():
    x = noise(1000)
    said = [World(ThreeLC(s), 1, "gather", one_tensor(1000)).exchange([x])[0].mean for s in (1, 1.5, 1.9)]
    counts = [int(t.count_nonzero()) for t in said]
    assert counts[0] > counts[1] > counts[2] > 0


@pytest.mark.parametrize("s", [1.0, 1.5, 1.9])
def test_no_element_is_off_by_more_than_half_of_the_step(s: float):
    x = noise(1000)
    (out,) = World(ThreeLC(s), 1, "gather", one_tensor(1000)).exchange([x])
    assert float((out.mean - x).abs().max()) <= s * float(x.abs().max()) / 2 * (1 + 1e-6)


def test_what_was_rounded_away_is_said_later():
    world = World(ErrorFeedback(ThreeLC()), 1, "gather", one_tensor(2))
    said = [world.exchange([torch.tensor([1.0, 0.4])], step)[0].mean.tolist() for step in range(2)]
    assert said[0] == [1.0, 0.0]
    assert said[1] == pytest.approx([1.0, 1.0])  # 0.8 rounds up


def test_five_elements_to_a_byte_and_zeros_in_a_row_to_less():
    assert ThreeLC().payload_bits(one_tensor(1000)) == 1600 + 32
    x = torch.zeros(1000)
    x[500] = 1.0
    world = World(ThreeLC(), 2, "gather", one_tensor(1000))
    assert torch.equal(world.exchange([x, x.clone()])[0].mean, x)
    # Its length, the header, M; 100 bytes of zeros, one of values, 99 of zeros: 8, 1 and 8 bytes.
    assert world.links[0].sent_bytes == 8 + 24 + 4 + 8 + 1 + 8


def test_a_message_that_unfolds_to_another_length_is_refused():
    scale = torch.ones(1)
    with pytest.raises(PayloadError, match="does not unfold to 2 bytes"):
        ThreeLC().decode((scale, torch.tensor([255], dtype=torch.uint8)), 10, 1, None)


def test_behind_a_selection_its_size_would_not_be_known():
    with pytest.raises(PlanError, match="known size"):
        TopK(0.1) | ThreeLC()


@pytest.mark.parametrize("s", [0.9, 2.0])
def test_a_multiplier_that_would_silence_everything_is_refused(s: float):
    with pytest.raises(PlanError, match="1 to below 2"):
        ThreeLC(s)

from __future__ import annotations

import math

import pytest
import torch

from laconic.compress import AdaComp, ErrorFeedback
from laconic.compress.base import Draw
from laconic.core.bucket import one_tensor
from laconic.core.errors import PayloadError, PlanError
from laconic.core.rng import Stream
from tests.laws.world import World
from tests.zoo import noise

DRAW = Draw(Stream(1), Stream(2))


def test_two_steps_by_hand():
    world = World(AdaComp(3), 1, "gather", one_tensor(6))
    (out,) = world.exchange([torch.tensor([4.0, -2.0, 1.0, 0.0, 0.0, -2.0])])
    # Bins peak at 4 and 2: s = 3. Twice the gradient reaches the peak for 4, -2 and for -2.
    assert out.sent.tolist() == [3, -3, 0, 0, 0, -3]
    assert world.states[0].residual.tolist() == [1, 1, 1, 0, 0, 1]
    (out,) = world.exchange([torch.tensor([0.0, 1.0, -1.0, 0.0, 0.0, 0.0])], 1)
    # G = 1 2 0 | 0 0 1; H = 1 3 -1 | 0 0 1: the third has nothing to say; s = 1.5.
    assert out.sent.tolist() == [0, 1.5, 0, 0, 0, 1.5]
    assert world.states[0].residual.tolist() == [1, 0.5, 0, 0, 0, -0.5]


def test_a_zero_tensor_says_nothing():
    aux, _ = AdaComp(50).encode(torch.zeros(200), DRAW)
    assert aux == 0


def test_all_that_came_in_was_said_or_is_remembered():
    world = World(AdaComp(50), 1, "gather", one_tensor(1000))
    came = sent = torch.zeros(1000, dtype=torch.float64)
    for step in range(30):
        x = noise(1000, step)
        (out,) = world.exchange([x], step)
        came, sent = came + x, sent + out.sent
    assert torch.allclose(sent + world.states[0].residual, came, atol=1e-4)


@pytest.mark.parametrize(("block", "code"), [(64, torch.uint8), (65, torch.int16), (500, torch.int16)])
def test_an_element_takes_one_byte_or_two(block: int, code: torch.dtype):
    x = torch.where(noise(1300, 5) > 0.5, 2.0, 0.0) * noise(1300, 6).sign()
    aux, parts = AdaComp(block).encode(x, DRAW)
    assert (parts[1].dtype, parts[1].numel()) == (code, aux)
    assert torch.equal(AdaComp(block).decode(parts, 1300, aux, DRAW), x)
    assert parts[2].numel() == math.ceil(math.ceil(1300 / block) / 8)


def test_a_message_whose_bins_do_not_match_is_refused():
    aux, (scale, marks, bins) = AdaComp(50).encode(noise(200, 7), DRAW)
    bins[0] ^= 1
    with pytest.raises(PayloadError, match="marks 3 bins and brings 4"):
        AdaComp(50).decode((scale, marks, bins), 200, aux, DRAW)


def test_it_needs_no_second_memory_and_sensible_bins():
    with pytest.raises(PlanError, match="already remembers"):
        ErrorFeedback(AdaComp())
    with pytest.raises(PlanError, match="a bin has 2 to"):
        AdaComp(1)

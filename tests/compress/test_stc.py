from __future__ import annotations

import pytest
import torch

from laconic.compress import STC, ErrorFeedback
from laconic.compress.base import Draw
from laconic.core.bucket import one_tensor
from laconic.core.errors import PayloadError, PlanError
from laconic.core.rng import Stream
from tests.laws.world import World
from tests.zoo import noise

DRAW = Draw(Stream(1), Stream(2))


def test_the_largest_with_their_mean_magnitude():
    x = torch.tensor([0.5, -4.0, 0.0, 2.0, -1.0, 1.0])
    (out,) = World(STC(1 / 3), 1, "gather", one_tensor(6)).exchange([x])
    assert out.sent.tolist() == [0, -3, 0, 3, 0, 0]


def test_one_word_an_element_and_one_magnitude():
    _, (mu, words) = STC(1 / 3).encode(torch.tensor([0.5, -4.0, 0.0, 2.0, -1.0, 1.0]), DRAW)
    assert mu.tolist() == [3]
    assert words.tolist() == [1 - 2**31, 3]
    assert STC(0.01).payload_bits(one_tensor(1000)) == 32 + 10 * 32


@pytest.mark.parametrize("ratio", [0.01, 0.2, 1.0])
def test_the_error_is_the_norm_less_k_mu_squared(ratio: float):
    x = noise(500, 3)
    _, (mu, words) = STC(ratio).encode(x, DRAW)
    said = STC(ratio).decode((mu, words), 500, 0, DRAW)
    left = float((x - said).double().pow(2).sum())
    captured = words.numel() * float(mu) ** 2
    assert left == pytest.approx(float(x.double().pow(2).sum()) - captured, rel=1e-5)
    delta = STC(ratio).traits(one_tensor(500)).delta
    assert delta is not None
    assert captured / float(x.pow(2).sum()) >= delta


def test_the_way_down_is_compressed_with_a_memory_too():
    world = World(ErrorFeedback(STC(0.5)), 2, "deal", one_tensor(4))
    out = world.exchange([torch.tensor([4.0, 0, 0, 0]), torch.tensor([0, 2.0, 0, 0])])
    # Owner 0 averaged (2, 1), says one of the two and remembers the other.
    assert out[0].mean.tolist() == [2, 0, 0, 0]
    assert world.states[0].inner.error.tolist() == [0, 1]


def test_a_hostile_index_and_a_bad_share_are_refused():
    with pytest.raises(PayloadError, match="names elements"):
        STC(0.5).decode((torch.ones(1), torch.tensor([7], dtype=torch.int32)), 2, 1, DRAW)
    with pytest.raises(PlanError, match="above 0 and at most 1"):
        STC(0)

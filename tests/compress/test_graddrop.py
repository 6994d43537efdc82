from __future__ import annotations

import pytest
import torch

from laconic.compress import GradDrop, TopK
from laconic.compress.base import Draw
from laconic.core.errors import PlanError
from laconic.core.rng import Stream
from tests.zoo import noise


def draw(salt: int = 0) -> Draw:
    return Draw(Stream(salt), Stream(99))


def test_looking_at_everything_is_top_k_of_the_whole_bucket():
    x = torch.cat([noise(300, 1), 10 * noise(200, 2)])  # two layers of different scale, one threshold
    assert torch.equal(GradDrop(0.1, sample=1).select(x, draw()), TopK(0.1).select(x, draw()))


def test_a_sample_finds_about_as_many_and_never_more():
    x = noise(20_000, 3)
    counts = [GradDrop(0.05, sample=0.05).select(x, draw(i)).numel() for i in range(20)]
    assert max(counts) <= 1000
    assert sum(counts) / 20 > 800
    assert min(counts) >= GradDrop(0.05, sample=0.05).least(20_000) == 50


def test_what_is_selected_are_the_largest():
    x = noise(5000, 4)
    at = GradDrop(0.1, sample=0.05).select(x, draw())
    assert torch.equal(at, TopK(at.numel() / 5000).select(x, draw()))


def test_ties_at_the_threshold_are_cut_to_k():
    assert GradDrop(0.1, sample=0.2).select(torch.ones(1000), draw()).numel() == 100


def test_zeros_are_not_said():
    x = torch.zeros(1000)
    x[7] = 1
    assert GradDrop(0.1, sample=0.2).select(x, draw()).tolist() == [7]


@pytest.mark.parametrize("bad", [{"ratio": 0.0}, {"ratio": 1.5}, {"sample": 0.0}, {"sample": 2.0}])
def test_shares_outside_zero_to_one_are_refused(bad: dict[str, float]):
    with pytest.raises(PlanError, match="above 0 and at most 1"):
        GradDrop(**bad)

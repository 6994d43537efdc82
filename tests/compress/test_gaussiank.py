from __future__ import annotations

import pytest
import torch

from laconic.compress import GaussianK, TopK
from laconic.compress.base import Draw
from laconic.core.errors import PlanError
from laconic.core.rng import Stream
from tests.zoo import noise

DRAW = Draw(Stream(1), Stream(2))


@pytest.mark.parametrize("ratio", [0.001, 0.01, 0.1])
def test_normal_elements_give_about_k_at_the_first_try(ratio: float):
    k = int(50_000 * ratio)
    n = GaussianK(ratio).select(noise(50_000, 7), DRAW).numel()
    assert 2 * k / 3 <= n <= 4 * k / 3
    assert abs(n - k) < 5 * k**0.5


def test_heavy_tails_are_corrected_or_sorted_out():
    x = noise(10_000, 8) ** 5
    at = GaussianK(0.01).select(x, DRAW)
    assert 67 <= at.numel() <= 133
    assert torch.equal(at, TopK(at.numel() / 10_000).select(x, DRAW))


def test_a_constant_vector_is_cut_to_k():
    assert GaussianK(0.1).select(torch.full((90,), 2.0), DRAW).numel() == 9


def test_the_claims_follow_from_the_corrections():
    assert (GaussianK(0.1).least(90), GaussianK(0.1).count(90)) == (6, 12)


def test_a_share_outside_zero_to_one_is_refused():
    with pytest.raises(PlanError, match="above 0 and at most 1"):
        GaussianK(-0.1)

from __future__ import annotations

import pytest
import torch

from laconic.compress import RedSync, TopK
from laconic.compress.base import Draw
from laconic.core.errors import PlanError
from laconic.core.rng import Stream
from tests.zoo import noise

DRAW = Draw(Stream(1), Stream(2))


@pytest.mark.parametrize("ratio", [0.001, 0.01, 0.1])
@pytest.mark.parametrize("salt", range(3))
def test_k_to_2k_elements_that_contain_the_k_largest(ratio: float, salt: int):
    x = noise(20_000, salt)
    k = int(20_000 * ratio)
    at = RedSync(ratio).select(x, DRAW)
    assert k <= at.numel() <= 2 * k
    assert set(TopK(ratio).select(x, DRAW).tolist()) <= set(at.tolist())


def test_halving_by_hand():
    # mean 2.5, largest 8: r = 1/2 gives 5.25 (one element), r = 1/4 gives 3.875 (two), as many as wanted.
    x = torch.tensor([1.0, -8, 5, 1, 1, -1, 2, 1])
    assert RedSync(0.25).select(x, DRAW).tolist() == [1, 2]


def test_a_constant_vector_is_cut_to_k():
    assert RedSync(0.1).select(torch.full((100,), -3.0), DRAW).numel() == 10


def test_fewer_than_k_above_the_mean_are_filled_up():
    x = torch.full((100,), 1e-3)
    x[:3] = 100.0
    at = RedSync(0.1).select(x, DRAW)
    assert at.numel() == 10
    assert {0, 1, 2} <= set(at.tolist())


def test_a_share_outside_zero_to_one_is_refused():
    with pytest.raises(PlanError, match="above 0 and at most 1"):
        RedSync(0)

from __future__ import annotations

import pytest
import torch

from laconic.compress import MSTopK, TopK
from laconic.compress.base import Draw
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.core.rng import Stream
from laconic.kernels import reference_sparse as kernel
from laconic.kernels import rising_bytes
from tests.zoo import noise

DRAW = Draw(Stream(1), Stream(2))


@pytest.mark.parametrize("ratio", [0.001, 0.1, 0.7, 1.0])
@pytest.mark.parametrize("power", [1, 5])
def test_exactly_k_elements_and_they_are_the_largest(ratio: float, power: int):
    x = noise(5000, 2) ** power
    at = MSTopK(ratio).select(x, DRAW)
    assert at.numel() == 5000 * ratio
    assert torch.equal(at, TopK(ratio).select(x, DRAW))


def test_everything_above_the_upper_threshold_is_kept():
    x = noise(1000, 3)
    upper, lower = kernel.narrowest_thresholds(x.abs(), 50, 5)  # a band that is wide
    assert upper > lower
    surely = set((x.abs() >= upper).nonzero().view(-1).tolist())
    assert surely < set(MSTopK(0.05).select(x, DRAW).tolist())


def test_ties_are_cut_to_k():
    assert MSTopK(0.3).select(torch.ones(10), DRAW).numel() == 3
    assert MSTopK(0.3).select(torch.zeros(10), DRAW).numel() == 3  # a fixed size needs no round for lengths


def test_many_elements_need_a_bitmap_instead_of_indices():
    assert MSTopK(0.01).payload_bits(one_tensor(1000)) == 10 * 32 + 8 * rising_bytes(1000, 10)
    assert MSTopK(0.5).payload_bits(one_tensor(1000)) == 500 * 32 + 1000


def test_a_share_outside_zero_to_one_is_refused():
    with pytest.raises(PlanError, match="above 0 and at most 1"):
        MSTopK(2)

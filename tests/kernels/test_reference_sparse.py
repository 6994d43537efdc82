from __future__ import annotations

import math

import pytest
import torch

from laconic.core.rng import Stream
from laconic.kernels import reference_sparse as kernel
from tests.zoo import noise


def test_a_threshold_of_zero_selects_no_zeros():
    x = torch.tensor([0.0, -1e-45, 2.0, -0.0])
    assert kernel.at_least(x, 0.0).tolist() == [1, 2]
    assert kernel.at_least(x, 1.0).tolist() == [2]


def test_the_largest_among_some():
    x = torch.tensor([9.0, 1, -5, 3, 4])
    assert kernel.largest_among(x, torch.tensor([1, 2, 3]), 2).tolist() == [2, 3]
    assert kernel.largest_among(x, torch.tensor([1, 2]), 5).tolist() == [1, 2]
    assert kernel.largest_nonzero(torch.tensor([0.0, 3, 0]), 2).tolist() == [1]


def test_means_neither_overflow_nor_vanish():
    assert kernel.mean_of(torch.full((100,), 3e38)) == pytest.approx(3e38)
    assert kernel.mean_of(torch.full((100,), 1e-45)) == pytest.approx(1.4e-45, rel=0.01)
    assert kernel.mean_of(torch.empty(0)) == 0.0


def test_the_largest_of_each_row():
    rows = torch.tensor([[1.0, -3, 2], [0, 0, 5]])
    assert kernel.largest_of_rows(rows, 2)[0].tolist() == [1, 2]
    assert 2 in kernel.largest_of_rows(rows, 1)[1].tolist()


@pytest.mark.parametrize("k", [1, 7, 100, 400])
def test_a_fair_threshold_spends_exactly_k(k: int):
    size = noise(500, 3).abs() ** 3
    tau = kernel.fair_threshold(size, k)
    assert float((size.double() / tau).clamp(max=1).sum()) == pytest.approx(k)


def test_a_fair_threshold_keeps_all_where_there_is_room():
    assert kernel.fair_threshold(torch.tensor([0.0, 1, 2]), 2) == 0.0
    assert kernel.fair_threshold(torch.zeros(3), 1) == 0.0
    # 4 is kept for certain; the rest, 1 + 1, shares what is left.
    assert kernel.fair_threshold(torch.tensor([4.0, 1, 1]), 2) == 2.0


def test_thresholds_close_in_on_k():
    size = noise(1000, 4).abs()
    upper, lower = kernel.narrowest_thresholds(size, 40, 6)
    assert kernel.count_at_least(size, upper) <= 40 <= kernel.count_at_least(size, lower)
    assert kernel.narrowest_thresholds(torch.ones(4), 2, 9) == (math.inf, 1.0)
    assert kernel.bisected_threshold(Stream(1).uniform(100), 10, 5, 9) is None

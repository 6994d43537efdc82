from __future__ import annotations

import pytest
import torch

from laconic.compress import Quantile
from laconic.core.bucket import one_tensor
from tests.laws.world import World
from tests.zoo import noise


def _said(x: torch.Tensor, bits: int = 8) -> torch.Tensor:
    return World(Quantile(bits), 1, "gather", one_tensor(x.numel())).exchange([x])[0].mean


def test_two_bins_of_two_elements():
    assert _said(torch.tensor([9.0, 1.0, 5.0, 2.0]), bits=1).tolist() == [7.0, 1.5, 7.0, 1.5]


def test_the_means_of_bins_preserve_the_sum():
    x = noise(5000).double()
    said = _said(x.float()).double()
    assert float(said.sum()) == pytest.approx(float(x.sum()), abs=1e-3)


def test_no_element_is_off_by_more_than_its_bin_is_wide():
    x = noise(4096)
    said, bins = _said(x, bits=4), x.sort().values.view(16, 256)
    for values in bins:
        inside = said[(x >= values[0]) & (x <= values[-1])]
        assert inside.min() >= values[0]
        assert inside.max() <= values[-1]


def test_as_few_elements_as_bins_are_exact():
    x = noise(200)
    assert torch.equal(_said(x), x)


def test_equal_elements_share_a_bin():
    x = torch.tensor([0.0] * 900 + [3.0] * 100)
    assert torch.equal(_said(x, bits=4), x)


def test_bits_of_the_bins_and_their_means():
    assert Quantile(8).payload_bits(one_tensor(10_000)) == 8 * 10_000 + 32 * 256
    assert Quantile(8).payload_bits(one_tensor(10)) == 8 * 10 + 32 * 10

from __future__ import annotations

import pytest
import torch

from laconic.kernels import reference
from laconic.kernels.cpu import quantize, sums
from tests.kernels.parity import SIZES, same_bits, vectors


@pytest.mark.parametrize("n", [*SIZES, 4096, 10_000])
def test_sums_and_scales_are_those_of_the_reference(n: int):
    for block in (8, 24, 1024, 1025, 3000, max(n, 1)):
        for what, x in vectors(n):
            for name in ("abs_sums", "square_sums"):
                mine, theirs = getattr(sums, name)(x, block), getattr(reference, name)(x, block)
                assert same_bits(mine, theirs), f"{name}: {what}, blocks of {block}"
            for norm in ("max", "l2"):
                mine, theirs = quantize.scales(x, block, norm), reference.scales(x, block, norm)
                assert same_bits(mine, theirs), f"{norm}: {what}, blocks of {block}"


def test_the_order_of_a_sum_by_hand():
    # Lanes 0 and 1 of one piece: (2^53 + 1) rounds to 2^53 in its lane, so both lanes end at 2^53.
    x = torch.zeros(32)
    x[0], x[16], x[1], x[17] = 2.0**53, 1.0, 2.0**53, 1.0
    assert reference.abs_sums(x, 32).tolist() == [2.0**54]
    x[17], x[2] = 0.0, 1.0
    assert sums.abs_sums(x, 32).tolist() == reference.abs_sums(x, 32).tolist()


def test_the_mean_is_that_of_doubles():
    x = torch.full((5000,), 0.1)
    assert float(reference.abs_sums(x, 5000)) == pytest.approx(5000 * float(x[0]), rel=1e-15)

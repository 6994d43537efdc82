from __future__ import annotations

import pytest
import torch

from laconic.core.rng import Stream
from laconic.kernels.cpu import subset
from tests.kernels.parity import STREAM


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 1000, 70_001, 300_000])
def test_subsets_are_those_of_the_stream(n: int):
    x = torch.empty(n)
    for k in {0, 1, n // 1000, n // 100, n // 9, n // 8, n // 2, n - 1, n}:
        for stream in (STREAM, Stream(5)):
            assert torch.equal(subset.subset(x, stream, k), stream.choice(n, k)), (n, k)


def test_nothing_of_nothing():
    assert subset.subset(torch.empty(0), STREAM, 0).numel() == 0

from __future__ import annotations

import numpy as np
import pytest

from laconic.coding import Fixed
from laconic.core.errors import PayloadError


@pytest.mark.parametrize(("numel", "bits"), [(1, 0), (2, 1), (1000, 10), (1024, 10), (1025, 11), (1 << 20, 20)])
def test_no_more_bits_than_the_length_needs(numel: int, bits: int):
    at = np.array([numel - 1])
    assert Fixed().most_bits(1, numel) == bits
    assert Fixed().write(at, numel).size == -(-bits // 8)
    assert Fixed().read(Fixed().write(at, numel), 1, numel).tolist() == [numel - 1]


def test_indices_out_of_order_are_refused():
    stream = Fixed().write(np.array([1, 2, 3]), 256)
    with pytest.raises(PayloadError, match="out of order"):
        Fixed().read(stream[[1, 0, 2]], 3, 256)

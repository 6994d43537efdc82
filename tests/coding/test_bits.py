from __future__ import annotations

import numpy as np
import pytest

from laconic.coding.bits import Reader, bit_length, write_planes
from laconic.core.errors import PayloadError


def test_lengths_are_exact_at_powers_of_two():
    numbers = [0, 1, *(2**j + d for j in range(1, 33) for d in (-1, 0, 1))]
    assert bit_length(np.array(numbers)).tolist() == [n.bit_length() for n in numbers]


def test_planes_by_hand():
    # 2 and 0 in unary: 001 1; then 5 in three bits, 1 in one.
    stream = write_planes(np.array([2, 0]), [(np.array([5, 1]), np.array([3, 1]))])
    assert stream.tolist() == [0b1101_1100]
    reader = Reader(stream)
    assert reader.unary(2).tolist() == [2, 0]
    assert reader.fields(np.array([3, 1])).tolist() == [5, 1]
    reader.end()


def test_reading_past_the_end_is_refused():
    reader = Reader(np.array([1], dtype=np.uint8))
    assert reader.unary(1).tolist() == [0]
    with pytest.raises(PayloadError, match="should have 9 or more"):
        reader.fields(np.array([8]))

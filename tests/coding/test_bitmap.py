from __future__ import annotations

import numpy as np
import pytest

from laconic.coding import Bitmap
from laconic.core.errors import PayloadError


def test_one_bit_an_element():
    assert Bitmap().write(np.array([0, 3, 9]), 10).tolist() == [0b1001, 0b10]
    assert Bitmap().most_bits(3, 10) == 10


def test_bits_beyond_the_bucket_and_too_many_are_refused():
    with pytest.raises(PayloadError, match="names element 10 of 10"):
        Bitmap().read(np.array([0b1001, 0b100], dtype=np.uint8), 3, 10)
    with pytest.raises(PayloadError, match="marks 2 of 3"):
        Bitmap().read(np.array([0b1001, 0], dtype=np.uint8), 3, 10)
    with pytest.raises(PayloadError, match="3 bytes for 10 bits"):
        Bitmap().read(np.zeros(3, dtype=np.uint8), 0, 10)

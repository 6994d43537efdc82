from __future__ import annotations

import numpy as np
import pytest

from laconic.coding.prefix import Table
from laconic.core.errors import PayloadError


def test_words_stand_one_after_the_other_first_bit_first():
    table = Table(["0", "10", "11"])
    assert table.write(np.array([0, 1, 2, 0], dtype=np.uint8)).tolist() == [0b011010]
    assert table.read(np.array([0b011010], dtype=np.uint8), 4).tolist() == [0, 1, 2, 0]


def test_bits_left_over_are_refused():
    table = Table(["0", "10", "11"])
    with pytest.raises(PayloadError, match="end with zeros"):
        table.read(np.array([0b11011010], dtype=np.uint8), 4)
    with pytest.raises(PayloadError, match="bits too many"):
        table.read(np.array([0b011010, 0], dtype=np.uint8), 4)

from __future__ import annotations

import numpy as np
import pytest

from laconic.coding import Quartic
from laconic.core.errors import PayloadError


def test_a_byte_by_hand():
    # 0, +1, -1, 0, 0 are symbols 0, 1, 2, 0, 0 and trits 1, 2, 0, 1, 1.
    assert Quartic().encode_symbols(np.array([0, 1, 2, 0, 0], dtype=np.uint8), 3).tolist() == [81 + 54 + 0 + 3 + 1]
    assert Quartic().encode_symbols(np.zeros(5, dtype=np.uint8), 3).tolist() == [121]
    assert Quartic().encode_symbols(np.ones(5, dtype=np.uint8), 3).tolist() == [242]


def test_1_6_bits_a_symbol():
    assert Quartic().encode_symbols(np.zeros(1000, dtype=np.uint8), 3).size == 200


def test_a_byte_above_242_and_a_filled_end_are_refused():
    with pytest.raises(PayloadError, match="above 242"):
        Quartic().decode_symbols(np.array([243], dtype=np.uint8), 5, 3)
    with pytest.raises(PayloadError, match="end with zeros"):
        Quartic().decode_symbols(np.array([242], dtype=np.uint8), 4, 3)

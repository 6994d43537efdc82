from __future__ import annotations

import numpy as np
import pytest

from laconic.coding import Varint
from laconic.core.errors import PayloadError


def test_bytes_by_hand():
    assert Varint().encode(np.array([0, 127, 128, 300])).tolist() == [0, 127, 0x80, 1, 0xAC, 2]


@pytest.mark.parametrize("bits", range(1, 33))
def test_seven_bits_a_byte(bits: int):
    gap = min((1 << bits) - 1, (1 << 32) - 2)
    assert Varint().encode(np.array([gap])).size == -(-bits // 7)


@pytest.mark.parametrize("stream", [[0x80, 0], [0x80] * 5 + [1], [0xFF] * 4 + [0x7F], [0x80]])
def test_what_nobody_would_write_is_refused(stream: list[int]):
    with pytest.raises(PayloadError):
        Varint().decode(np.array(stream, dtype=np.uint8), 1)

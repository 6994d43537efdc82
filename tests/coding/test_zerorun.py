from __future__ import annotations

import numpy as np
import pytest

from laconic.coding import ZeroRun
from laconic.coding.zerorun import lengthen, shorten
from laconic.core.errors import PayloadError


@pytest.mark.parametrize(
    ("plain", "short"),
    [
        ([], []),
        ([121], [121]),
        ([7, 7], [7, 7]),
        ([121] * 2, [243]),
        ([121] * 14, [255]),
        ([121] * 15, [255, 121]),
        ([121] * 16, [255, 243]),
        ([5, 121, 121, 121, 9, 121, 242], [5, 244, 9, 121, 242]),
        ([121] * 43, [255, 255, 255, 121]),
    ],
)
def test_runs_by_hand(plain: list[int], short: list[int]):
    got = shorten(np.array(plain, dtype=np.uint8))
    assert got.tolist() == short
    assert lengthen(got, len(plain)).tolist() == plain


def test_seventy_zeros_in_a_byte():
    assert ZeroRun().encode_symbols(np.zeros(7000, dtype=np.uint8), 3).size == 100


def test_runs_beyond_the_end_are_refused_before_they_are_written():
    with pytest.raises(PayloadError, match="says 1400 of 20 bytes"):
        ZeroRun().decode_symbols(np.full(100, 255, dtype=np.uint8), 100, 3)

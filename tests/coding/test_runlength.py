from __future__ import annotations

import numpy as np
import pytest

from laconic.coding import RunLength
from laconic.core.errors import PayloadError


def test_a_long_run_takes_words_without_an_element():
    words = RunLength().encode(np.array([3, 65_534, 65_535, 200_000])).view("<u2").tolist()
    assert words == [3, 65_534, 65_535, 0, 65_535, 65_535, 65_535, 3395]


def test_a_run_without_an_element_at_the_end_is_refused():
    with pytest.raises(PayloadError, match="holds 0 of 1"):
        RunLength().decode(np.array([0xFF, 0xFF], dtype=np.uint8), 1)
    with pytest.raises(PayloadError, match="half a word"):
        RunLength().decode(np.array([1, 0, 1], dtype=np.uint8), 1)

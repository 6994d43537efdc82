from __future__ import annotations

import math

import numpy as np
import pytest

from laconic.coding import Golomb
from laconic.core.errors import PayloadError
from tests.coding.streams import some_of


def test_four_gaps_by_hand():
    # Sum 12 of 4 gaps: b = 1. Quotients 0, 1, 0, 4 in unary, then the low bits 1, 1, 0, 0.
    stream = Golomb().encode(np.array([1, 3, 0, 8]))
    bits = "1 01 1 00001" + "1 1 0 0"
    value = int(bits.replace(" ", "")[::-1], 2)
    assert stream.tolist() == [1, value & 0xFF, value >> 8]


@pytest.mark.parametrize(("share", "bits"), [(0.1, 4.76), (0.01, 8.11), (0.001, 11.50)])
def test_bits_an_index_are_those_of_the_formula(share: float, bits: float):
    # The mean of Golomb's code, b + 1/(1 - (1-p)^(2^b)), and a byte a block of 128; 2% for chance and other b.
    at = some_of(2_000_000, share)
    assert 8 * Golomb().write(at, 2_000_000).size / at.size <= 1.02 * (bits + 8 / 128)


@pytest.mark.parametrize("share", [0.1, 0.01, 0.001])
def test_blocks_agree_with_the_papers_parameter(share: float):
    golden = (1 + math.sqrt(5)) / 2
    b = max(0, 1 + math.floor(math.log2(math.log(golden - 1) / math.log(1 - share))))
    at = some_of(1_000_000, share)
    shifts = Golomb().write(at, 1_000_000)[: -(-at.size // 128)]
    assert np.median(shifts) == b


def test_dense_and_sparse_regions_have_their_own_parameter():
    at = np.concatenate([np.arange(0, 256), np.arange(1000, 1_000_000, 1000)]).astype(np.int64)
    stream = Golomb().write(at, 1_000_000)
    assert stream[0] == 0
    assert stream[5] == 9
    one_for_all = at.size * (math.log2(1_000_000 / at.size) + 1.5)
    assert 8 * stream.size < 0.9 * one_for_all


def test_a_full_set_is_a_bitmap():
    assert Golomb().write(np.arange(1280), 1280).size == 10 + 160


def test_a_shift_beyond_32_bits_is_refused():
    stream = Golomb().encode(np.array([5]))
    stream[0] = 40
    with pytest.raises(PayloadError, match="shifts by 40"):
        Golomb().decode(stream, 1)


def test_a_quotient_and_shift_that_overflow_are_refused():
    stream = np.array([31, 0, 1] + [0] * 8, dtype=np.uint8)
    with pytest.raises(PayloadError, match="more than 32 bits"):
        Golomb().decode(stream, 1)

from __future__ import annotations

import math

import numpy as np
import pytest

from laconic.coding import Huffman
from laconic.coding.huffman import LONGEST, canonical, code_lengths
from laconic.core.errors import PayloadError
from tests.coding.streams import levels


def test_lengths_and_words_by_hand():
    assert code_lengths([5, 2, 1, 1]) == [1, 2, 3, 3]
    assert canonical([1, 2, 3, 3]) == ["0", "10", "110", "111"]
    assert canonical([2, 0, 1, 2]) == ["10", "", "0", "11"]


def test_a_single_symbol_takes_one_bit():
    assert code_lengths([0, 9, 0]) == [0, 1, 0]
    assert Huffman().encode_symbols(np.ones(80, dtype=np.uint8), 2).size == 1 + 10


def test_a_fair_coin_takes_one_bit_and_a_mean_at_most_one_more_than_the_entropy():
    symbols = levels(100_000, 15)
    p = np.bincount(symbols) / symbols.size
    entropy = -sum(x * math.log2(x) for x in p if x)
    bits = 8 * (Huffman().encode_symbols(symbols, 15).size - 8) / symbols.size
    assert entropy <= bits <= entropy + 1
    assert bits < 1.01 * entropy  # powers of a half: no code is better


def test_no_word_is_longer_than_the_table_can_say():
    fibonacci = [1, 1]
    while len(fibonacci) < 40:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    lengths = code_lengths(fibonacci)
    assert max(lengths) <= LONGEST
    assert sum(2.0**-n for n in lengths) == 1


@pytest.mark.parametrize("lengths", [[1, 1, 1, 0], [2, 2, 0, 0], [0, 0, 0, 0], [3, 0, 0, 0]])
def test_lengths_that_no_code_has_are_refused(lengths: list[int]):
    head = [lengths[0] | lengths[1] << 4, lengths[2] | lengths[3] << 4]
    with pytest.raises(PayloadError, match="no code has"):
        Huffman().decode_symbols(np.array([*head, 0, 0], dtype=np.uint8), 3, 4)


def test_the_other_word_of_a_lonely_symbol_is_refused():
    stream = Huffman().encode_symbols(np.ones(8, dtype=np.uint8), 2)
    stream[-1] = 0b100
    with pytest.raises(PayloadError, match="no code word"):
        Huffman().decode_symbols(stream, 8, 2)

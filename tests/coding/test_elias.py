from __future__ import annotations

import itertools

import numpy as np
import pytest

from laconic.coding import Elias, EliasDelta, EliasGamma
from laconic.coding.elias import AbstractElias
from laconic.core.errors import PayloadError

NUMBERS = (1, 2, 3, 4, 8, 16, 100, 1000)


@pytest.mark.parametrize(
    ("coding", "lengths"),
    [
        (EliasGamma(), (1, 3, 3, 5, 7, 9, 13, 19)),
        (EliasDelta(), (1, 4, 4, 5, 8, 9, 11, 16)),
        (Elias(), (1, 3, 3, 6, 7, 11, 13, 17)),
    ],
    ids=str,
)
def test_lengths_are_those_of_the_textbook(coding: AbstractElias, lengths: tuple[int, ...]):
    assert tuple(len(coding.word(n)) for n in NUMBERS) == lengths
    for n, length in zip(NUMBERS, lengths, strict=True):
        eight = np.full(8, n - 1, dtype=np.int64)
        assert coding.encode(eight).size == length  # eight codes of so many bits are so many bytes
        if n <= 256:
            assert coding.encode_symbols(eight.astype(np.uint8), 256).size == length


def test_words_by_hand():
    assert [EliasGamma.word(n) for n in (1, 2, 5)] == ["1", "010", "00101"]
    assert [EliasDelta.word(n) for n in (1, 2, 10)] == ["1", "0100", "00100010"]
    assert [Elias.word(n) for n in (1, 2, 4, 16)] == ["0", "100", "101000", "10100100000"]


@pytest.mark.parametrize("kind", [EliasGamma, EliasDelta, Elias])
def test_no_word_begins_another(kind: type[AbstractElias]):
    words = sorted(kind.word(n) for n in range(1, 300))
    assert not any(b.startswith(a) for a, b in itertools.pairwise(words))


@pytest.mark.parametrize("coding", [EliasGamma(), EliasDelta(), Elias()], ids=str)
def test_streams_are_as_long_as_their_words(coding: AbstractElias):
    n = np.array([1, 7, 1, 300, 2, 70_000, 5])
    assert coding.encode(n - 1).size == -(-sum(len(coding.word(int(v))) for v in n) // 8)


def test_a_number_of_too_many_bits_is_refused():
    zeros = np.zeros(8, dtype=np.uint8)
    zeros[5] = 1  # forty zeros and a one: a number of 41 bits
    for coding in (EliasGamma(), EliasDelta(), Elias()):
        with pytest.raises(PayloadError, match="more than 32 bits"):
            coding.decode(zeros, 1)

"""What holds for every coding: exact, bounded, and never taken in by a damaged stream."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laconic.coding import AbstractIndexCoding, AbstractSymbolCoding, Golomb
from laconic.coding.base import most_by_length
from laconic.core.errors import PayloadError
from tests.coding.streams import INDEX, SYMBOL, chance, damages, levels, refuses, some_of

index_codings = pytest.mark.parametrize("coding", INDEX, ids=str)
symbol_codings = pytest.mark.parametrize("coding", SYMBOL, ids=str)
DENSITIES = (0.0, 0.0001, 0.001, 0.01, 0.1, 0.5, 1.0)


@index_codings
@pytest.mark.parametrize("numel", [0, 1, 2, 127, 128, 129, 1000, 100_003])
def test_indices_come_back(coding: AbstractIndexCoding, numel: int):
    for share in DENSITIES:
        at = some_of(numel, share)
        stream = coding.write(at, numel)
        assert stream.dtype == np.uint8
        np.testing.assert_array_equal(coding.read(stream, at.size, numel), at)
        assert stream.size <= -(-coding.most_bits(at.size, numel) // 8)


@index_codings
def test_every_number_up_to_100000_comes_back(coding: AbstractIndexCoding):
    if str(coding) == "bitmap":  # unary: only as long as a bucket
        gaps = np.arange(2000)
    else:
        gaps = np.concatenate([np.arange(100_000), [(1 << 20) - 1, 1 << 31, (1 << 32) - 2]])
    np.testing.assert_array_equal(coding.decode(coding.encode(gaps), gaps.size), gaps)


@index_codings
@given(data=st.data())
def test_any_set_comes_back_within_its_bound(coding: AbstractIndexCoding, data: st.DataObject):
    numel = data.draw(st.integers(1, 3000))
    at = np.array(sorted(data.draw(st.sets(st.integers(0, numel - 1), max_size=300))), dtype=np.int64)
    stream = coding.write(at, numel)
    np.testing.assert_array_equal(coding.read(stream, at.size, numel), at)
    more = data.draw(st.integers(at.size, numel))
    assert 8 * stream.size <= coding.most_bits(more, numel) + 7


@index_codings
def test_a_bound_holds_where_gaps_are_as_bad_as_can_be(coding: AbstractIndexCoding):
    numel = 4096
    for gap in (1, 2, 3, 4, 8, 9, 16, 17, 64, 129, 130, 1000):
        at = np.arange(gap - 1, numel, gap, dtype=np.int64)
        assert 8 * coding.write(at, numel).size <= coding.most_bits(at.size, numel) + 7
    clustered = np.concatenate([np.arange(300), [numel - 1]]).astype(np.int64)
    assert 8 * coding.write(clustered, numel).size <= coding.most_bits(301, numel) + 7


@index_codings
@pytest.mark.parametrize("share", [0.001, 0.01, 0.3])
def test_damaged_indices_are_refused_or_at_least_a_set(coding: AbstractIndexCoding, share: float):
    numel = 5000
    at = some_of(numel, share)
    refused = 0
    for stream in damages(coding.write(at, numel)):
        got = refuses(lambda stream=stream: coding.read(stream, at.size, numel))
        refused += got is None
        if got is not None:
            assert got.shape == at.shape
            assert (np.diff(got) > 0).all()
            assert not got.size or (got[0] >= 0 and got[-1] < numel)
    assert refused >= 2


@index_codings
def test_noise_is_refused_or_at_least_a_set(coding: AbstractIndexCoding):
    for salt, size in itertools.product(range(20), (0, 1, 7, 40, 200)):
        stream = chance(salt).integers(0, 256, size).astype(np.uint8)
        got = refuses(lambda stream=stream: coding.read(stream, 50, 1000))
        assert got is None or (got.shape == (50,) and (np.diff(got) > 0).all() and got[-1] < 1000)


@index_codings
def test_a_stream_that_is_cut_is_always_refused(coding: AbstractIndexCoding):
    at = some_of(3000, 0.05)
    stream = coding.write(at, 3000)
    for size in range(stream.size):
        with pytest.raises(PayloadError):
            coding.read(stream[:size], at.size, 3000)


@symbol_codings
@pytest.mark.parametrize("count", [0, 1, 2, 4, 5, 6, 1000, 40_000])
def test_symbols_come_back(coding: AbstractSymbolCoding, count: int):
    for alphabet in (1, 2, 3, 15, 255, 256):
        if alphabet <= coding.limit:
            for symbols in (levels(count, alphabet), chance().integers(0, alphabet, count).astype(np.uint8)):
                stream = coding.encode_symbols(symbols, alphabet)
                np.testing.assert_array_equal(coding.decode_symbols(stream, count, alphabet), symbols)


@symbol_codings
def test_damaged_symbols_are_refused_or_at_least_symbols(coding: AbstractSymbolCoding):
    alphabet = min(15, coding.limit)
    symbols = levels(500, alphabet)
    refused = 0
    for stream in damages(coding.encode_symbols(symbols, alphabet)):
        got = refuses(lambda stream=stream: coding.decode_symbols(stream, 500, alphabet))
        refused += got is None
        assert got is None or (got.shape == (500,) and got.max() < alphabet)
    assert refused >= 2


@symbol_codings
def test_noise_is_refused_or_at_least_symbols(coding: AbstractSymbolCoding):
    alphabet = min(15, coding.limit)
    for salt, size in itertools.product(range(20), (0, 1, 7, 40, 200)):
        stream = chance(salt).integers(0, 256, size).astype(np.uint8)
        got = refuses(lambda stream=stream: coding.decode_symbols(stream, 100, alphabet))
        assert got is None or (got.shape == (100,) and got.max() < alphabet)


@pytest.mark.parametrize("coding", [*INDEX, *SYMBOL], ids=str)
def test_a_count_that_no_stream_can_hold_asks_for_no_memory(coding: AbstractIndexCoding | AbstractSymbolCoding):
    stream, many = np.ones(16, dtype=np.uint8), 1 << 50
    if isinstance(coding, AbstractIndexCoding):
        with pytest.raises(PayloadError):
            coding.read(stream, many, 1 << 51)
    if isinstance(coding, AbstractSymbolCoding):
        with pytest.raises(PayloadError):
            coding.decode_symbols(stream, many, 3)


def test_the_bound_by_lengths_is_that_of_the_worst_gaps():
    # Lengths 1, 3, 5 from 1, 2, 4 on: of 8 elements, four gaps of 2 are the longest to say.
    steps = [(1, 1), (2, 3), (4, 5)]
    assert most_by_length(steps, 4, 8) == 12
    assert most_by_length(steps, 8, 8) == 12  # eight gaps of 1 need 8 bits, four of 2 more
    assert most_by_length(steps, 1, 8) == 5
    assert most_by_length(steps, 0, 8) == 0


def test_an_index_outside_is_named():
    with pytest.raises(PayloadError, match="names element 9 of 5"):
        Golomb().read(Golomb().write(np.array([9]), 10), 1, 5)

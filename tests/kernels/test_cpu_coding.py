"""Compiled and plain loops give the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from laconic.coding import bits
from laconic.coding.huffman import canonical, code_lengths
from laconic.coding.prefix import Table
from laconic.kernels import coding as chooser
from laconic.kernels import reference_coding as plain
from tests.coding.streams import chance, levels

compiled = pytest.importorskip("laconic.kernels.cpu_coding")
SIZES = [0, 1, 2, 31, 32, 33, 1000]


def fields(count: int) -> tuple[plain.Ints, plain.Ints, plain.Ints, int]:
    widths = chance(count).integers(0, 33, count)
    values = bits.low_bits(chance(count + 1).integers(0, 1 << 32, count), widths)
    ends = np.cumsum(widths)
    return ends - widths, values, widths, int(ends[-1]) if count else 0


def test_the_compiled_ones_are_used():
    assert chooser.kernels() is compiled


@pytest.mark.parametrize("count", SIZES)
def test_fields(count: int):
    at, values, widths, nbits = fields(count)
    a, b = bits.empty(nbits), bits.empty(nbits)
    plain.put(a, at, values)
    compiled.put(b, at, values)
    np.testing.assert_array_equal(a, b)
    for kernels in (plain, compiled):
        np.testing.assert_array_equal(kernels.take(a, at, widths), values)


@pytest.mark.parametrize("count", SIZES)
def test_single_bits(count: int):
    at = np.sort(chance(count).choice(5 * count + 1, count, replace=False)).astype(np.int64)
    a, b = bits.empty(5 * count + 1), bits.empty(5 * count + 1)
    plain.put_ones(a, at)
    compiled.put_ones(b, at)
    np.testing.assert_array_equal(a, b)
    for kernels in (plain, compiled):
        for want in (0, count // 2, count, count + 5):
            np.testing.assert_array_equal(kernels.ones(a, 5 * count + 1, want), at[:want])
        np.testing.assert_array_equal(kernels.ones(a, 2 * count, count), at[at < 2 * count])


@pytest.mark.parametrize("count", [*SIZES, 127, 128, 129])
@pytest.mark.parametrize("top", [1, 2, 200, 1 << 31])
def test_rice_codes(count: int, top: int):
    gaps = chance(count).integers(0, top, count)
    shifts = plain.rice_shifts(gaps, 128)
    np.testing.assert_array_equal(compiled.rice_shifts(gaps, 128), shifts)
    (a, nbits), (b, other) = plain.rice_put(gaps, 128, shifts), compiled.rice_put(gaps, 128, shifts)
    np.testing.assert_array_equal(a, b)
    assert nbits == other
    for kernels in (plain, compiled):
        out = np.zeros(count, dtype=np.int64)
        assert kernels.rice_take(a, nbits, 128, shifts, out) == nbits
        np.testing.assert_array_equal(out, gaps)
        if count:
            assert kernels.rice_take(a, nbits - 1, 128, shifts, out) == -1


def test_both_refuse_a_gap_of_too_many_bits():
    words = bits.from_bytes(np.array([0, 1, 0, 0, 0, 0, 0], dtype=np.uint8))
    for kernels in (plain, compiled):
        assert kernels.rice_take(words, 56, 128, np.array([31]), np.zeros(1, dtype=np.int64)) == -2


@pytest.mark.parametrize("count", [*SIZES, 40_000])
def test_prefix_codes(count: int):
    symbols = levels(count, 15)
    table = Table(canonical(code_lengths([1 + 2 ** (15 - i) for i in range(15)])))
    nbits = int(table.lengths[symbols].sum())
    a, b = bits.empty(nbits), bits.empty(nbits)
    assert plain.put_codes(a, symbols, table.codes, table.lengths) == nbits
    assert compiled.put_codes(b, symbols, table.codes, table.lengths) == nbits
    np.testing.assert_array_equal(a, b)
    for kernels in (plain, compiled):
        out = np.zeros(count, dtype=np.uint8)
        assert kernels.follow(a, nbits, table.ahead, table.depth, out) == nbits
        np.testing.assert_array_equal(out, symbols)
        if count:
            assert kernels.follow(a, nbits - 1, table.ahead, table.depth, out) == -1


def test_both_refuse_what_is_no_code():
    table = Table(["0", "10"])  # 11 is none
    words = bits.from_bytes(np.array([0b11_10_0], dtype=np.uint8))
    for kernels in (plain, compiled):
        assert kernels.follow(words, 8, table.ahead, table.depth, np.zeros(3, dtype=np.uint8)) == -1

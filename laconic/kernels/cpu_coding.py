"""The hot loops of codings, compiled by numba; names, arguments and results are those of `reference_coding`.

Nothing is checked by the compiler here: every loop stays inside what its caller has measured, or looks itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from laconic.kernels.reference_coding import Bytes, Ints, Words

_compiled: Callable[[Callable[..., Any]], Any] = numba.njit(nogil=True, cache=True)
_LOW = np.uint64(0xFFFFFFFF)


_LARGEST = 0xFFFFFFFE
_MAGIC = 0x077CB531  # de Bruijn: its five top bits differ for each of 32 shifts
_PLACE = np.zeros(32, dtype=np.int64)
_PLACE[[(_MAGIC << i & 0xFFFFFFFF) >> 27 for i in range(32)]] = np.arange(32)


@_compiled
def _lowest(word: Any) -> Any:
    """The place of the lowest set bit of a word that is not 0."""
    low = np.int64(word) & -np.int64(word)
    return _PLACE[(low * _MAGIC & 0xFFFFFFFF) >> 27]


def put(words: Words, at: Ints, values: Ints) -> None:
    _put(words, at, values)


@_compiled
def _put(words: Any, at: Any, values: Any) -> None:
    for i in range(at.size):
        w = at[i] >> 5
        v = np.uint64(values[i]) << np.uint64(at[i] & 31)
        words[w] |= np.uint32(v & _LOW)
        words[w + 1] |= np.uint32(v >> np.uint64(32))


def put_ones(words: Words, at: Ints) -> None:
    _put_ones(words, at)


@_compiled
def _put_ones(words: Any, at: Any) -> None:
    for i in range(at.size):
        words[at[i] >> 5] |= np.uint32(1) << np.uint32(at[i] & 31)


def take(words: Words, at: Ints, widths: Ints) -> Ints:
    out = np.empty(at.size, dtype=np.int64)
    _take(words, at, widths, out)
    return out


@_compiled
def _take(words: Any, at: Any, widths: Any, out: Any) -> None:
    for i in range(at.size):
        w = at[i] >> 5
        window = np.uint64(words[w]) | np.uint64(words[w + 1]) << np.uint64(32)
        mask = (np.uint64(1) << np.uint64(widths[i])) - np.uint64(1)
        out[i] = np.int64(window >> np.uint64(at[i] & 31) & mask)


def ones(words: Words, nbits: int, count: int) -> Ints:
    out = np.empty(min(count, nbits), dtype=np.int64)
    return out[: _ones(words, nbits, out)]


@_compiled
def _ones(words: Any, nbits: Any, out: Any) -> Any:
    found = 0
    for w in range((nbits + 31) >> 5):
        word = words[w]
        while word:
            at = 32 * w + _lowest(word)
            if at >= nbits or found == out.size:
                return found
            out[found] = at
            found += 1
            word &= word - np.uint32(1)
    return found


def rice_shifts(gaps: Ints, block: int) -> Ints:
    shifts = np.empty(-(-gaps.size // block), dtype=np.int64)
    _rice_shifts(gaps, block, shifts)
    return shifts


@_compiled
def _rice_shifts(gaps: Any, block: Any, shifts: Any) -> None:
    for j in range(shifts.size):
        start, stop = j * block, min((j + 1) * block, gaps.size)
        total = 0
        for i in range(start, stop):
            total += gaps[i]
        b = 0
        while total > (stop - start) << (b + 1):
            b += 1
        shifts[j] = b


def rice_put(gaps: Ints, block: int, shifts: Ints) -> tuple[Words, int]:
    unary, binary = _rice_bits(gaps, block, shifts)
    words: Words = np.zeros((unary + binary + 31) // 32 + 2, dtype=np.uint32)
    _rice_put(gaps, block, shifts, words, unary)
    return words, unary + binary


@_compiled
def _rice_bits(gaps: Any, block: Any, shifts: Any) -> Any:
    unary, binary = gaps.size, 0
    for j in range(shifts.size):
        start, stop = j * block, min((j + 1) * block, gaps.size)
        binary += shifts[j] * (stop - start)
        for i in range(start, stop):
            unary += gaps[i] >> shifts[j]
    return unary, binary


@_compiled
def _rice_put(gaps: Any, block: Any, shifts: Any, words: Any, binary: Any) -> None:
    unary = 0
    for j in range(shifts.size):
        b = shifts[j]
        low = (1 << b) - 1
        for i in range(j * block, min((j + 1) * block, gaps.size)):
            unary += gaps[i] >> b
            words[unary >> 5] |= np.uint32(1) << np.uint32(unary & 31)
            unary += 1
            v = np.uint64(gaps[i] & low) << np.uint64(binary & 31)
            words[binary >> 5] |= np.uint32(v & _LOW)
            words[(binary >> 5) + 1] |= np.uint32(v >> np.uint64(32))
            binary += b


def rice_take(words: Words, nbits: int, block: int, shifts: Ints, out: Ints) -> int:
    if _ones(words, nbits, out) < out.size:
        return -1
    return int(_rice_take(words, nbits, block, shifts, out))


@_compiled
def _rice_take(words: Any, nbits: Any, block: Any, shifts: Any, out: Any) -> Any:
    """`out` holds the places of the ones that end the unary parts."""
    at, before = out[-1] + 1 if out.size else 0, -1
    for j in range(shifts.size):
        b = shifts[j]
        mask = (np.uint64(1) << np.uint64(b)) - np.uint64(1)
        start, stop = j * block, min((j + 1) * block, out.size)
        if at + b * (stop - start) > nbits:
            return -1
        for i in range(start, stop):
            high = out[i] - before - 1
            before = out[i]
            if high > _LARGEST >> b:
                return -2
            window = np.uint64(words[at >> 5]) | np.uint64(words[(at >> 5) + 1]) << np.uint64(32)
            out[i] = high << b | np.int64(window >> np.uint64(at & 31) & mask)
            at += b
    return at


def put_codes(words: Words, symbols: Bytes, codes: Ints, lengths: Ints) -> int:
    return int(_put_codes(words, symbols, codes, lengths))


@_compiled
def _put_codes(words: Any, symbols: Any, codes: Any, lengths: Any) -> Any:
    acc, held, w = np.uint64(0), 0, 0
    for i in range(symbols.size):
        s = symbols[i]
        acc |= np.uint64(codes[s]) << np.uint64(held)
        held += lengths[s]
        if held >= 32:
            words[w] = np.uint32(acc & _LOW)
            acc >>= np.uint64(32)
            held -= 32
            w += 1
    words[w] = np.uint32(acc & _LOW)
    return 32 * w + held


def follow(words: Words, nbits: int, table: Ints, depth: int, out: Bytes) -> int:
    return int(_follow(words, nbits, table, depth, out))


@_compiled
def _follow(words: Any, nbits: Any, table: Any, depth: Any, out: Any) -> Any:
    at, mask = 0, (np.uint64(1) << np.uint64(depth)) - np.uint64(1)
    for i in range(out.size):
        if at >= nbits:
            return -1
        w = at >> 5
        window = np.uint64(words[w]) | np.uint64(words[w + 1]) << np.uint64(32)
        entry = table[np.int64(window >> np.uint64(at & 31) & mask)]
        if entry == 0:
            return -1
        out[i] = np.uint8(entry & 0xFF)
        at += entry >> 8
    return at if at <= nbits else -1

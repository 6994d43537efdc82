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
    found, at = 0, 0
    while at < nbits and found < out.size:
        word = words[at >> 5]
        if word == np.uint32(0):
            at += 32
            continue
        for j in range(32):
            if word >> np.uint32(j) & np.uint32(1) and at + j < nbits and found < out.size:
                out[found] = at + j
                found += 1
        at += 32
    return found


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

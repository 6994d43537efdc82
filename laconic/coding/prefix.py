"""Prefix codes of symbols: a table of code words, written one after the other and read by looking ahead.

A code word is a text of 0 and 1; its first character is the first bit of the stream.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from laconic.coding import bits
from laconic.coding.base import damaged
from laconic.kernels.coding import kernels
from laconic.kernels.reference_coding import Bytes, Ints


class Table:
    """Code words of the symbols 0, 1, 2, ...; an empty one for a symbol that does not occur."""

    def __init__(self, words: Sequence[str]) -> None:
        self.lengths: Ints = np.array([len(w) for w in words], dtype=np.int64)
        self.codes: Ints = np.array([int(w[::-1] or "0", 2) for w in words], dtype=np.int64)
        self.depth = max(1, *map(len, words))
        self.ahead: Ints = np.zeros(1 << self.depth, dtype=np.int64)
        for symbol, (code, length) in enumerate(zip(self.codes, self.lengths, strict=True)):
            if length:
                self.ahead[code :: 1 << length] = symbol + 256 * length

    def write(self, symbols: Bytes) -> Bytes:
        nbits = int(np.bincount(symbols, minlength=len(self.lengths)) @ self.lengths)
        words = bits.empty(nbits)
        kernels().put_codes(words, symbols, self.codes, self.lengths)
        return bits.to_bytes(words, nbits)

    def read(self, stream: Bytes, count: int) -> Bytes:
        if count > 8 * stream.size:  # a code word has a bit or more
            raise damaged(f"of {8 * stream.size} bits cannot hold {count} symbols")
        reader = bits.Reader(stream)
        out = np.empty(count, dtype=np.uint8)
        reader.at = kernels().follow(reader.words, reader.nbits, self.ahead, self.depth, out)
        if reader.at < 0:
            raise damaged("holds something that is no code word, or ends inside one")
        reader.end()
        return out

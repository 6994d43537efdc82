"""Bit streams by planes: all unary parts first, then all binary parts, so that both are read without a loop.

    unary r        r zeros and a one
    field (v, w)   the w low bits of v

The code words of a stream are as long as those of the textbook, only their parts stand elsewhere. The last byte is
filled with zeros.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from laconic.coding.base import damaged
from laconic.kernels.coding import kernels
from laconic.kernels.reference_coding import Bytes, Ints, Words


def empty(nbits: int) -> Words:
    return np.zeros((nbits + 31) // 32 + 2, dtype=np.uint32)


def to_bytes(words: Words, nbits: int) -> Bytes:
    return words.view(np.uint8)[: (nbits + 7) // 8]


def from_bytes(stream: Bytes) -> Words:
    words = empty(8 * stream.size)
    words.view(np.uint8)[: stream.size] = stream
    return words


def bit_length(x: Ints) -> Ints:
    """As int.bit_length: 0 -> 0, 1 -> 1, 2 and 3 -> 2; exact below 2**53."""
    return np.frexp(x.astype(np.float64))[1].astype(np.int64)


def low_bits(x: Ints, widths: Ints) -> Ints:
    return x & ((np.int64(1) << widths) - 1)


def write_planes(runs: Ints, fields: Iterable[tuple[Ints, Ints]]) -> Bytes:
    """A stream of unary numbers, then of fields (values, widths)."""
    planes = [(low_bits(values, widths), widths) for values, widths in fields]
    ends = np.cumsum(runs + 1)
    at = int(ends[-1]) if ends.size else 0
    nbits = at + sum(int(widths.sum()) for _, widths in planes)
    words = empty(nbits)
    kernels().put_ones(words, ends - 1)
    for values, widths in planes:
        stops = np.cumsum(widths)
        kernels().put(words, at + stops - widths, values)
        at += int(stops[-1]) if stops.size else 0
    return to_bytes(words, nbits)


class Reader:
    """Reads a stream from its first bit to its last."""

    def __init__(self, stream: Bytes) -> None:
        self.words, self.nbits, self.at = from_bytes(stream), 8 * stream.size, 0

    def unary(self, count: int) -> Ints:
        """Stands first in a stream."""
        if count > self.nbits:
            raise damaged(f"of {self.nbits} bits cannot hold {count} numbers")
        places = kernels().ones(self.words, self.nbits, count)
        if places.size < count:
            raise damaged(f"holds {places.size} of {count} numbers")
        self.at = int(places[-1]) + 1 if count else 0
        return np.diff(places, prepend=-1) - 1

    def fields(self, widths: Ints) -> Ints:
        """Widths of up to 32 bits."""
        stops = np.cumsum(widths)
        wanted = int(stops[-1]) if stops.size else 0
        if self.at + wanted > self.nbits:
            raise damaged(f"of {self.nbits} bits should have {self.at + wanted} or more")
        values = kernels().take(self.words, self.at + stops - widths, widths)
        self.at += wanted
        return values

    def end(self) -> None:
        """Only zeros, and no whole byte of them, may be left."""
        if self.nbits - self.at >= 8:
            raise damaged(f"has {self.nbits - self.at} bits too many")
        if self.at < self.nbits and int(self.words[self.at >> 5]) >> (self.at & 31):
            raise damaged("does not end with zeros")

"""Huffman: each symbol in about as many bits as it is rare, by the shortest prefix code there is.

    mean length <= H + 1,     H = sum p log2(1/p)

Huffman, Proceedings of the IRE 40(9), 1952. Canonical: only the lengths are sent, four bits a symbol of the alphabet;
codes are counted up by (length, symbol). Longest code: 15 bits (a rarer symbol gets a little more than its due; then
the mean may exceed the optimum, by less than 0.01 bits). A single symbol takes one bit.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic.coding import bits
from laconic.coding.base import AbstractSymbolCoding, damaged
from laconic.coding.prefix import Table
from laconic.kernels.reference_coding import Bytes, Ints

LONGEST = 15


@dataclass(frozen=True)
class Huffman(AbstractSymbolCoding):
    """Code words by how often each level occurs; the table goes along."""

    name: ClassVar[str] = "huffman"
    paper: ClassVar[str] = "huffman1952method"

    def encode_symbols(self, symbols: Bytes, alphabet: int) -> Bytes:
        if not symbols.size:
            return np.zeros(0, dtype=np.uint8)
        lengths = code_lengths(np.bincount(symbols, minlength=alphabet).tolist())
        head = bits.write_planes(_none(), [(np.array(lengths), np.full(alphabet, 4))])
        return np.concatenate([head, Table(canonical(lengths)).write(symbols)])

    def decode_symbols(self, stream: Bytes, count: int, alphabet: int) -> Bytes:
        if not count:
            if stream.size:
                raise damaged(f"has {stream.size} bytes for no symbols")
            return np.zeros(0, dtype=np.uint8)
        size = (4 * alphabet + 7) // 8
        if stream.size < size:
            raise damaged(f"of {stream.size} bytes has no table of {alphabet} symbols")
        head = bits.Reader(stream[:size])
        lengths = head.fields(np.full(alphabet, 4)).tolist()
        head.end()
        space = sum(1 << (LONGEST - n) for n in lengths if n)
        if space != 1 << LONGEST and sorted(lengths)[-2:] != [0, 1][-len(lengths) :]:
            raise damaged("has a table of code lengths that no code has")
        return Table(canonical(lengths)).read(stream[size:], count)


def _none() -> Ints:
    return np.zeros(0, dtype=np.int64)


def code_lengths(frequencies: list[int]) -> list[int]:
    """Of each symbol; 0 for those that do not occur. Halved frequencies give flatter trees, until none is too deep."""
    while max(lengths := _depths(frequencies)) > LONGEST:
        frequencies = [(f + 1) // 2 for f in frequencies]
    return lengths


def _depths(frequencies: list[int]) -> list[int]:
    order = itertools.count()
    heap = [(f, next(order), [s]) for s, f in enumerate(frequencies) if f]
    depths = [0] * len(frequencies)
    if len(heap) == 1:
        depths[heap[0][2][0]] = 1
    heapq.heapify(heap)
    while len(heap) > 1:
        (f, _, a), (g, _, b) = heapq.heappop(heap), heapq.heappop(heap)
        for symbol in (both := a + b):
            depths[symbol] += 1
        heapq.heappush(heap, (f + g, next(order), both))
    return depths


def canonical(lengths: list[int]) -> list[str]:
    """Code words counted up by (length, symbol)."""
    words, code, before = [""] * len(lengths), 0, 0
    for length, symbol in sorted((n, s) for s, n in enumerate(lengths) if n):
        code <<= length - before
        words[symbol], before = f"{code:0{length}b}", length
        code += 1
    return words

"""Elias codes: any whole number n >= 1, the small ones short, nothing to be told beforehand.

    gamma   |_log2 n_| in unary, then the bits of n below the first       2 |_log2 n_| + 1
    delta   |_log2 n_| + 1 by gamma, then the bits of n below the first   |_log2 n_| + 2 |_log2(|_log2 n_| + 1)_| + 1
    omega   "0"; while n > 1: put the bits of n in front, n <- their number - 1

Elias, IEEE Transactions on Information Theory 21(2), 1975. Omega, here `elias`, is the one of QSGD (Alistarh et al.,
NeurIPS 2017, arXiv:1610.02132): gaps and levels of quantized gradients; n is the gap between two indices, or 1 for
zero, 2 and 3 for the levels beside it, and so on. Differs: the parts of the gaps' code words stand in planes
(`bits.py`; unary ones first), so the stream is as long but read without a loop; scales are not in it.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic.coding.base import LARGEST, AbstractIndexCoding, AbstractSymbolCoding, damaged, most_by_length
from laconic.coding.bits import Reader, bit_length, write_planes
from laconic.coding.prefix import Table
from laconic.kernels.reference_coding import Bytes, Ints

_MOST_GROUPS = 4  # of an omega code below 2**32


class AbstractElias(AbstractIndexCoding, AbstractSymbolCoding, ABC):
    @staticmethod
    @abstractmethod
    def word(n: int) -> str:
        """The code word of n >= 1, as the textbook prints it."""

    @abstractmethod
    def write_numbers(self, n: Ints) -> Bytes: ...

    @abstractmethod
    def read_numbers(self, reader: Reader, count: int) -> Ints: ...

    def encode(self, gaps: Ints) -> Bytes:
        assert not gaps.size or (gaps.min() >= 0 and gaps.max() <= LARGEST)
        return self.write_numbers(gaps + 1)

    def decode(self, stream: Bytes, count: int) -> Ints:
        reader = Reader(stream)
        n = self.read_numbers(reader, count)
        reader.end()
        return n - 1

    def most_bits(self, count: int, numel: int) -> int:
        return most_by_length(((1 << j, len(self.word(1 << j))) for j in range(33)), count, numel)

    def encode_symbols(self, symbols: Bytes, alphabet: int) -> Bytes:
        return _table(type(self), alphabet).write(symbols)

    def decode_symbols(self, stream: Bytes, count: int, alphabet: int) -> Bytes:
        return _table(type(self), alphabet).read(stream, count)


@functools.cache
def _table(kind: type[AbstractElias], alphabet: int) -> Table:
    return Table([kind.word(symbol + 1) for symbol in range(alphabet)])


def _plus(n: Ints, width: Ints) -> Ints:
    """The number whose bits below the first are these."""
    return (np.int64(1) << width) | n


@dataclass(frozen=True)
class EliasGamma(AbstractElias):
    """Universal code of gaps and levels: a length in unary, then the bits; best below 8."""

    name: ClassVar[str] = "elias_gamma"
    paper: ClassVar[str] = "elias1975universal"

    @staticmethod
    def word(n: int) -> str:
        return "0" * (n.bit_length() - 1) + f"{n:b}"

    def write_numbers(self, n: Ints) -> Bytes:
        width = bit_length(n) - 1
        return write_planes(width, [(n, width)])

    def read_numbers(self, reader: Reader, count: int) -> Ints:
        width = _below(reader.unary(count), 32)
        return _plus(reader.fields(width), width)


@dataclass(frozen=True)
class EliasDelta(AbstractElias):
    """Universal code of gaps and levels: a length by Elias gamma, then the bits; best above 32."""

    name: ClassVar[str] = "elias_delta"
    paper: ClassVar[str] = "elias1975universal"

    @staticmethod
    def word(n: int) -> str:
        return EliasGamma.word(n.bit_length()) + f"{n:b}"[1:]

    def write_numbers(self, n: Ints) -> Bytes:
        length = bit_length(n)
        width = bit_length(length) - 1
        return write_planes(width, [(length, width), (n, length - 1)])

    def read_numbers(self, reader: Reader, count: int) -> Ints:
        width = _below(reader.unary(count), 6)
        length = _below(_plus(reader.fields(width), width), 33)
        return _plus(reader.fields(length - 1), length - 1)


@dataclass(frozen=True)
class Elias(AbstractElias):
    """Universal code of gaps and levels (omega): lengths of lengths; the one of QSGD."""

    name: ClassVar[str] = "elias"
    paper: ClassVar[str] = "elias1975universal"

    @staticmethod
    def word(n: int) -> str:
        out = "0"
        while n > 1:
            out, n = f"{n:b}{out}", n.bit_length() - 1
        return out

    def write_numbers(self, n: Ints) -> Bytes:
        """The first bit of a group says that there is one, the final 0 that there is none: unary; then the rest."""
        chain = np.stack(list(_groups(n)))
        groups = (chain > 1).sum(axis=0)
        return write_planes(groups, [_plane(chain, groups, i) for i in range(int(groups.max(initial=0)))])

    def read_numbers(self, reader: Reader, count: int) -> Ints:
        groups = _below(reader.unary(count), _MOST_GROUPS + 1)
        n = np.ones(count, dtype=np.int64)
        for i in range(int(groups.max(initial=0))):
            more = np.flatnonzero(groups > i)
            width = _below(n[more], 32)
            n[more] = _plus(reader.fields(width), width)
        return n


def _groups(n: Ints) -> Iterator[Ints]:
    """The number, its length less one, that number's, ... down to 1."""
    yield n
    while (n > 1).any():
        n = np.maximum(bit_length(n) - 1, 1)
        yield n


def _plane(chain: Ints, groups: Ints, i: int) -> tuple[Ints, Ints]:
    """Values and widths of the i-th group, for the numbers that have so many; the shortest group comes first."""
    more = np.flatnonzero(groups > i)
    values = chain[groups[more] - 1 - i, more]
    return values, bit_length(values) - 1


def _below(x: Ints, limit: int) -> Ints:
    if x.size and x.max() >= limit:
        raise damaged("holds a number of more than 32 bits")
    return x

"""HOW it is packed: lossless codings of sorted indices and of small whole numbers.

    topk(0.01) | golomb          topk(0.01) | qsgd(bits=4) | golomb          qsgd(bits=4) | huffman

A coding is a pair of pure functions: what is encoded is decoded, exactly. Sorted indices i_1 < i_2 < ... of n elements
are written as gaps g_j = i_j - i_(j-1) - 1 >= 0 with i_0 = -1, so sum (g_j + 1) <= n. Symbols are numbers below a small
alphabet, 0 for zero and then the nearest to it first.

A reader knows how many numbers it waits for and what they may be; a stream that is too short, too long, or says
something else is a PayloadError. Memory is asked for by what the reader knows, never by what a stream says.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from laconic.core.component import Component
from laconic.core.errors import PayloadError
from laconic.kernels.reference_coding import Bytes, Ints

LARGEST = (1 << 32) - 2  # of a gap


class AbstractCoding(Component, ABC):
    folder: ClassVar[str] = "coding"

    @property
    def made_for(self) -> str:
        indices = ["indices"] if isinstance(self, AbstractIndexCoding) else []
        levels = [f"up to {self.limit} levels"] if isinstance(self, AbstractSymbolCoding) else []
        return " and ".join(indices + levels)

    @property
    def example(self) -> str:
        return f"topk(0.01) | {self}" if isinstance(self, AbstractIndexCoding) else f"qsgd(2) | {self}"

    def traits(self) -> dict[str, object]:
        return {"exact": True, "codes": self.made_for}


class AbstractIndexCoding(AbstractCoding, ABC):
    """Concrete classes write `encode`, `decode` (of gaps) and `most_bits`."""

    @abstractmethod
    def encode(self, gaps: Ints) -> Bytes: ...

    @abstractmethod
    def decode(self, stream: Bytes, count: int) -> Ints: ...

    @abstractmethod
    def most_bits(self, count: int, numel: int) -> int:
        """No `count` or fewer indices of so many elements need more."""

    def write(self, at: Ints, numel: int) -> Bytes:
        """A stream for sorted, distinct indices below numel."""
        return self.encode(np.diff(at, prepend=-1) - 1)

    def read(self, stream: Bytes, count: int, numel: int) -> Ints:
        return check_rising(np.cumsum(self.decode(stream, count) + 1) - 1, numel)


class AbstractSymbolCoding(AbstractCoding, ABC):
    limit: ClassVar[int] = 256  # how many different symbols it can write

    @abstractmethod
    def encode_symbols(self, symbols: Bytes, alphabet: int) -> Bytes: ...

    @abstractmethod
    def decode_symbols(self, stream: Bytes, count: int, alphabet: int) -> Bytes: ...


def check_rising(at: Ints, numel: int) -> Ints:
    """Gaps are not negative, so only the last index can be outside."""
    if at.size and at[-1] >= numel:
        raise PayloadError(f"A coded message names element {int(at[-1])} of {numel}.")
    return at


def damaged(what: str) -> PayloadError:
    return PayloadError(f"A coded message {what}: it was cut or damaged on the way.")


def most_by_length(points: Iterable[tuple[int, int]], count: int, numel: int) -> int:
    """The most bits of up to `count` codes, where (n, l) says: from n on a code has l bits, and all n sum to <= numel.

    With F the least concave function above the steps, k codes need at most k F(numel/k) bits (Jensen), which is
    concave and in pieces linear in k: largest at the most codes, or where a piece ends.
    """
    if not count:
        return 0
    hull = _above(points)
    turns = [numel / x for x, _ in hull if 1 <= numel / x <= count]
    return math.ceil(max(k * _at(hull, numel / k) for k in [float(count), *turns]))


def _above(points: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The corners of the least concave function above these points."""
    hull: list[tuple[int, int]] = []
    for x, y in points:
        while len(hull) > 1 and _turn(hull[-2], hull[-1], (x, y)) >= 0:
            hull.pop()
        hull.append((x, y))
    return hull


def _turn(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> int:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _at(hull: list[tuple[int, int]], x: float) -> float:
    for (x0, y0), (x1, y1) in itertools.pairwise(hull):
        if x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return hull[-1][1]

"""Fixed width: every index in as many bits as the largest possible one needs.

    k ceil(log2 n) bits

20 instead of 32 bits in a bucket of a million elements, at the price of a shift.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic.coding import bits
from laconic.coding.base import LARGEST, AbstractIndexCoding, check_rising, damaged
from laconic.kernels.reference_coding import Bytes, Ints


@dataclass(frozen=True)
class Fixed(AbstractIndexCoding):
    """Indices of no more bits than the bucket's length needs."""

    name: ClassVar[str] = "fixed"

    def encode(self, gaps: Ints) -> Bytes:
        """Here the width is that of the largest gap, and stands in the first byte."""
        assert not gaps.size or (gaps.min() >= 0 and gaps.max() <= LARGEST)
        width = int(gaps.max(initial=0)).bit_length()
        return np.concatenate([np.array([width], dtype=np.uint8), _write(gaps, width)])

    def decode(self, stream: Bytes, count: int) -> Ints:
        if not stream.size or stream[0] > 32:
            raise damaged("does not begin with a width of up to 32 bits")
        return _read(stream[1:], count, int(stream[0]))

    def most_bits(self, count: int, numel: int) -> int:
        return count * _width(numel)

    def write(self, at: Ints, numel: int) -> Bytes:
        return _write(at, _width(numel))

    def read(self, stream: Bytes, count: int, numel: int) -> Ints:
        at = _read(stream, count, _width(numel))
        if (np.diff(at) <= 0).any():
            raise damaged("names elements out of order")
        return check_rising(at, numel)


def _width(numel: int) -> int:
    return max(numel - 1, 0).bit_length()


def _write(values: Ints, width: int) -> Bytes:
    return bits.write_planes(values[:0], [(values, np.full(values.size, width))])


def _read(stream: Bytes, count: int, width: int) -> Ints:
    if stream.size != (count * width + 7) // 8:
        raise damaged(f"has {stream.size} bytes for {count} numbers of {width} bits")
    reader = bits.Reader(stream)
    values = reader.fields(np.full(count, width))
    reader.end()
    return values

"""Varint: gaps in groups of seven bits, a byte each; the eighth bit says that another follows (LEB128).

    8 max(1, ceil(bits(g) / 7)) bits for a gap g

Folklore of inverted indices. Whole bytes, so anything can read them; a quarter longer than Golomb at 1% and 0.1%.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic.coding.base import LARGEST, AbstractIndexCoding, damaged, most_by_length
from laconic.kernels.reference_coding import Bytes, Ints

_LONGEST = 5  # bytes of 32 bits


@dataclass(frozen=True)
class Varint(AbstractIndexCoding):
    """Gaps between indices in one byte each, or more where they are 128 and more."""

    name: ClassVar[str] = "varint"

    def encode(self, gaps: Ints) -> Bytes:
        assert not gaps.size or (gaps.min() >= 0 and gaps.max() <= LARGEST)
        lengths: Ints = np.ones(gaps.size, dtype=np.int64)
        for j in range(1, _LONGEST):
            lengths += gaps >> 7 * j > 0
        ends = np.cumsum(lengths)
        out = np.empty(int(ends[-1]) if gaps.size else 0, dtype=np.uint8)
        for j in range(_LONGEST):
            long = np.flatnonzero(lengths > j)
            more = (lengths[long] > j + 1) << 7
            out[ends[long] - lengths[long] + j] = gaps[long] >> 7 * j & 0x7F | more
        return out

    def decode(self, stream: Bytes, count: int) -> Ints:
        ends = np.flatnonzero(stream < 0x80)
        if ends.size != count or stream.size != (ends[-1] + 1 if count else 0):
            raise damaged(f"holds {ends.size} of {count} numbers")
        starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)[:count]
        lengths = ends - starts + 1
        if count and (lengths.max() > _LONGEST or (stream[ends] == 0)[lengths > 1].any()):
            raise damaged("writes a number longer than need be")
        gaps = np.zeros(count, dtype=np.int64)
        for j in range(int(lengths.max(initial=0))):
            long = np.flatnonzero(lengths > j)
            gaps[long] |= (stream[starts[long] + j].astype(np.int64) & 0x7F) << 7 * j
        if count and gaps.max() > LARGEST:
            raise damaged("holds a number of more than 32 bits")
        return gaps

    def most_bits(self, count: int, numel: int) -> int:
        return most_by_length([(1, 8), *(((1 << 7 * j) + 1, 8 * (j + 1)) for j in range(1, _LONGEST))], count, numel)

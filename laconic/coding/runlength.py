"""Run lengths in 16 bits: the number of zeros before each element that is said.

    gap g  ->  g div 65535 words 65535 ("so many zeros, and no element"), then g mod 65535

Lin et al., ICLR 2018, arXiv:1712.01887 (Deep Gradient Compression counts zeros this way and says a zero where its 16
bits end; here a word of its own says so, and costs no value). Two bytes an index at any density above 0.01%.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic.coding.base import LARGEST, AbstractIndexCoding, damaged
from laconic.kernels.reference_coding import Bytes, Ints

CAP = 0xFFFF


@dataclass(frozen=True)
class RunLength(AbstractIndexCoding):
    """Gaps between indices as 16-bit words."""

    name: ClassVar[str] = "runlength"
    paper: ClassVar[str] = "lin2018deep"

    def encode(self, gaps: Ints) -> Bytes:
        assert not gaps.size or (gaps.min() >= 0 and gaps.max() <= LARGEST)
        ends = np.cumsum(gaps // CAP + 1)
        words = np.full(int(ends[-1]) if gaps.size else 0, CAP, dtype="<u2")
        words[ends - 1] = gaps % CAP
        return words.view(np.uint8)

    def decode(self, stream: Bytes, count: int) -> Ints:
        if stream.size % 2:
            raise damaged(f"of {stream.size} bytes has half a word")
        words = np.ascontiguousarray(stream).view("<u2").astype(np.int64)
        ends = np.flatnonzero(words != CAP)
        if ends.size != count or words.size != (ends[-1] + 1 if count else 0):
            raise damaged(f"holds {ends.size} of {count} numbers")
        gaps: Ints = words[ends] + CAP * (np.diff(ends, prepend=-1) - 1)
        if count and gaps.max() > LARGEST:
            raise damaged("holds a number of more than 32 bits")
        return gaps

    def most_bits(self, count: int, numel: int) -> int:
        return 16 * (count + (numel - count) // CAP) if count else 0

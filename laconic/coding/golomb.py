"""Golomb-Rice: gaps of a set whose density is known, within 1.5% of what is possible if elements fall by chance.

    gap g  ->  g >> b in unary, then the b low bits of g          b: the least with  sum g <= 2^(b+1) m

in each block of m = 128 gaps, which says its own b in a byte: dense and sparse layers stand in one bucket. For k of n
elements that is at most

    8 ceil(k/128) + k (b+1) + (n-k) / 2^b  bits          (the sum over blocks is concave in their densities)

and 8.2, 11.6 bits an index at 1%, 0.1%. Golomb, IEEE Transactions on Information Theory 12(3), 1966; for gradients:
Sattler et al., IJCNN 2019, arXiv:1805.08768, with b = 1 + |_log2(ln(phi - 1) / ln(1 - k/n))_| for the whole message:
the same b but near powers of two, without the bound. Differs: unary and binary parts stand in planes (`bits.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic.coding.base import LARGEST, AbstractIndexCoding, damaged
from laconic.coding.bits import Reader, to_bytes
from laconic.kernels.coding import kernels
from laconic.kernels.reference_coding import Bytes, Ints

BLOCK = 128


@dataclass(frozen=True)
class Golomb(AbstractIndexCoding):
    """Rice code of the gaps between indices, fitted to every 128: about a byte an index at 1%."""

    name: ClassVar[str] = "golomb"
    paper: ClassVar[str] = "golomb1966run"

    def encode(self, gaps: Ints) -> Bytes:
        assert not gaps.size or (gaps.min() >= 0 and gaps.max() <= LARGEST)
        shifts = kernels().rice_shifts(gaps, BLOCK)
        words, nbits = kernels().rice_put(gaps, BLOCK, shifts)
        return np.concatenate([shifts.astype(np.uint8), to_bytes(words, nbits)])

    def decode(self, stream: Bytes, count: int) -> Ints:
        blocks = -(-count // BLOCK)
        if stream.size < blocks or count > 8 * (stream.size - blocks):  # a gap has a bit or more
            raise damaged(f"of {stream.size} bytes cannot hold {count} indices")
        shifts = stream[:blocks].astype(np.int64)
        if count and shifts.max() > 31:
            raise damaged(f"shifts by {int(shifts.max())} bits")
        reader, gaps = Reader(stream[blocks:]), np.empty(count, dtype=np.int64)
        reader.at = kernels().rice_take(reader.words, reader.nbits, BLOCK, shifts, gaps)
        if reader.at == -2:
            raise damaged("holds a number of more than 32 bits")
        if reader.at < 0:
            raise damaged(f"holds fewer than {count} numbers")
        reader.end()
        return gaps

    def most_bits(self, count: int, numel: int) -> int:
        bound = min(count * (b + 1) + ((numel - count) >> b) for b in range(32))
        return 8 * -(-count // BLOCK) + bound

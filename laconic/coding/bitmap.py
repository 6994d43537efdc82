"""Bitmap: one bit an element, whether it is said.

    bit i = 1  if i is in the set  else 0          n bits, padded to bytes

The shortest plain form above a density of 1/log2(n), and what Golomb's code becomes at b = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic.coding import bits
from laconic.coding.base import AbstractIndexCoding, check_rising, damaged
from laconic.kernels.reference_coding import Bytes, Ints


@dataclass(frozen=True)
class Bitmap(AbstractIndexCoding):
    """One bit for every element of the bucket: for dense sets."""

    name: ClassVar[str] = "bitmap"

    def encode(self, gaps: Ints) -> Bytes:
        return bits.write_planes(gaps, [])

    def decode(self, stream: Bytes, count: int) -> Ints:
        reader = bits.Reader(stream)
        gaps = reader.unary(count)
        reader.end()
        return gaps

    def most_bits(self, count: int, numel: int) -> int:
        return numel

    def write(self, at: Ints, numel: int) -> Bytes:
        said = np.zeros(numel, dtype=np.uint8)
        said[at] = 1
        return np.packbits(said, bitorder="little")

    def read(self, stream: Bytes, count: int, numel: int) -> Ints:
        if stream.size != (numel + 7) // 8:
            raise damaged(f"has {stream.size} bytes for {numel} bits")
        at = np.flatnonzero(np.unpackbits(stream, bitorder="little")).astype(np.int64)
        if at.size != count:
            raise damaged(f"marks {at.size} of {count} elements")
        return check_rising(at, numel)

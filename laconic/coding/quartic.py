"""Five three-valued symbols in a byte ("quartic": a polynomial of degree four in 3).

    byte = sum_j (q_j + 1) 3^(4-j) <= 242,   q_j in {-1, 0, 1};   1.6 bits each, the last byte filled with zeros

Lim, Andersen, Kaminsky, MLSys 2019, arXiv:1802.07389. For quantizers of three levels, where fixed width takes two bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic.coding.base import AbstractSymbolCoding, damaged
from laconic.kernels.reference_coding import Bytes

_POWERS = np.array([81, 27, 9, 3, 1], dtype=np.uint8)
ZEROS = 121  # the byte of five zeros


@dataclass(frozen=True)
class Quartic(AbstractSymbolCoding):
    """Five symbols of -1, 0 and 1 in a byte: 1.6 bits each."""

    name: ClassVar[str] = "quartic"
    paper: ClassVar[str] = "lim2019threelc"
    limit: ClassVar[int] = 3

    def encode_symbols(self, symbols: Bytes, alphabet: int) -> Bytes:
        return to_quartic(symbols)

    def decode_symbols(self, stream: Bytes, count: int, alphabet: int) -> Bytes:
        return from_quartic(stream, count)


def to_quartic(symbols: Bytes) -> Bytes:
    """Symbols 0, 1, 2 stand for 0, +1, -1."""
    trits = np.ones(-(-symbols.size // 5) * 5, dtype=np.uint8)
    trits[: symbols.size] = (symbols + np.uint8(1)) % 3
    return trits.reshape(-1, 5) @ _POWERS


def from_quartic(stream: Bytes, count: int) -> Bytes:
    if stream.size != -(-count // 5):
        raise damaged(f"has {stream.size} bytes for {count} symbols, five to a byte")
    if stream.size and stream.max() > 242:
        raise damaged(f"has a byte {int(stream.max())}, above 242")
    trits = (stream[:, None] // _POWERS % 3).reshape(-1)
    if (trits[count:] != 1).any():
        raise damaged("does not end with zeros")
    return (trits[:count] + np.uint8(2)) % 3

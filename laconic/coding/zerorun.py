"""Zero runs: three-valued symbols, five to a byte, and up to seventy zeros in one.

    r = 2 .. 14 bytes of five zeros (121)  ->  one byte 241 + r          from 1.6 down to 0.11 bits a symbol

Lim, Andersen, Kaminsky, MLSys 2019, arXiv:1802.07389: the bytes 243 .. 255 are free in their code of five
(`quartic.py`). For quantizers of three levels of which most are zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from laconic.coding.base import AbstractSymbolCoding, damaged
from laconic.coding.quartic import ZEROS, from_quartic, to_quartic
from laconic.kernels.reference_coding import Bytes

_LONGEST = 14
_FIRST = 243  # two bytes of zeros


@dataclass(frozen=True)
class ZeroRun(AbstractSymbolCoding):
    """Five symbols of -1, 0 and 1 in a byte, runs of zeros in one."""

    name: ClassVar[str] = "zerorun"
    paper: ClassVar[str] = "lim2019threelc"
    limit: ClassVar[int] = 3

    def encode_symbols(self, symbols: Bytes, alphabet: int) -> Bytes:
        return shorten(to_quartic(symbols))

    def decode_symbols(self, stream: Bytes, count: int, alphabet: int) -> Bytes:
        return from_quartic(lengthen(stream, -(-count // 5)), count)


def shorten(plain: Bytes) -> Bytes:
    """Runs of zeros are cut into pieces of 14 bytes and a rest."""
    starts = np.flatnonzero(np.concatenate([[True], (plain[1:] != ZEROS) | (plain[:-1] != ZEROS)])[: plain.size])
    runs = np.diff(starts, append=plain.size)  # 1 for a byte that is not five zeros
    pieces = -(-runs // _LONGEST)
    out = np.repeat(plain[starts], pieces)
    last = np.cumsum(pieces) - 1
    out[np.repeat(runs > 1, pieces)] = _FIRST + _LONGEST - 2
    rest = runs - _LONGEST * (pieces - 1)
    out[last] = np.where(rest > 1, _FIRST - 2 + rest, plain[starts])
    return out


def lengthen(stream: Bytes, size: int) -> Bytes:
    times = np.where(stream >= _FIRST, stream.astype(np.int64) - (_FIRST - 2), 1)
    if int(times.sum()) != size:
        raise damaged(f"says {int(times.sum())} of {size} bytes")
    return np.repeat(np.where(stream >= _FIRST, np.uint8(ZEROS), stream), times)

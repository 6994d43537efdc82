"""HOW it is packed: lossless codings of indices and levels, the last stages of a chain."""

from __future__ import annotations

from laconic.coding.base import AbstractCoding, AbstractIndexCoding, AbstractSymbolCoding
from laconic.coding.bitmap import Bitmap
from laconic.coding.elias import Elias, EliasDelta, EliasGamma
from laconic.coding.fixed import Fixed
from laconic.coding.golomb import Golomb
from laconic.coding.huffman import Huffman
from laconic.coding.quartic import Quartic
from laconic.coding.runlength import RunLength
from laconic.coding.varint import Varint
from laconic.coding.zerorun import ZeroRun

ALL: tuple[type[AbstractCoding], ...] = (
    Golomb,
    Varint,
    RunLength,
    Bitmap,
    Fixed,
    Elias,
    EliasGamma,
    EliasDelta,
    Huffman,
    Quartic,
    ZeroRun,
)

__all__ = [
    "ALL",
    "AbstractCoding",
    "AbstractIndexCoding",
    "AbstractSymbolCoding",
    "Bitmap",
    "Elias",
    "EliasDelta",
    "EliasGamma",
    "Fixed",
    "Golomb",
    "Huffman",
    "Quartic",
    "RunLength",
    "Varint",
    "ZeroRun",
]

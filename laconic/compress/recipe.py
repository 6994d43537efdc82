"""What a chain of stages is made of: who chooses elements, who writes values, and which codings write what of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from laconic.coding import AbstractCoding, AbstractIndexCoding, AbstractSymbolCoding
from laconic.compress.base import AbstractCodec, AbstractCompressor, AbstractSelector, Draw
from laconic.compress.chain import Chain
from laconic.compress.staged import AbstractStaged
from laconic.compress.symbols import AbstractSymbols
from laconic.core.payload import Part


@dataclass(frozen=True)
class Exact(AbstractCodec):
    """Values as they are."""

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return (Part(torch.float32, numel),)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        return 0, (x,)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        return parts[0]


class Recipe(NamedTuple):
    selector: AbstractSelector | None  # None: all elements are said
    codec: AbstractCodec
    indices: AbstractIndexCoding | None = None  # None: as `indices.py` has them, or none travel
    symbols: AbstractSymbolCoding | None = None  # None: as the codec packs them

    def then(self, coding: AbstractCoding) -> Recipe:
        """With what the coding is made for and nobody has coded yet; the same where that is nothing."""
        out, codec = self, self.codec
        travels = self.selector is not None and self.selector.travels
        if isinstance(coding, AbstractIndexCoding) and travels and self.indices is None:
            out = out._replace(indices=coding)
        if isinstance(coding, AbstractSymbolCoding) and isinstance(codec, AbstractSymbols) and self.symbols is None:
            out = out._replace(symbols=coding) if codec.symbol_count <= coding.limit else out
        return out


def plain(compressor: AbstractCompressor) -> Recipe | None:
    """Of a compressor without codings; None where its message is not made of such stages."""
    match compressor:
        case Chain(first=AbstractSelector() as first, then=AbstractCodec() as then):
            return Recipe(first, then)
        case AbstractStaged():
            return Recipe(*compressor.stages())
        case AbstractSelector():
            return Recipe(compressor, Exact())
        case AbstractCodec():
            return Recipe(None, compressor)
        case _:
            return None

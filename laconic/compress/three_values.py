"""3LC's three values without its own runs of zeros, so that a coding of one's choice may write them.

threelc | huffman        threelc | elias        threelc (alone: quartic code and zero runs, as in the paper)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import AbstractCodec, Draw
from laconic.compress.symbols import AbstractSymbols
from laconic.core.payload import Part


class AbstractTrits(AbstractCodec, ABC):
    """A codec whose last part is trits, five to a byte, with runs of zeros cut short."""

    @abstractmethod
    def scales(self, numel: int, each: int = 1) -> Part: ...


@dataclass(frozen=True)
class ThreeValues(AbstractCodec, AbstractSymbols):
    """The same messages, but with all their bytes."""

    by: AbstractTrits

    @property
    def alphabet(self) -> int:
        return 3

    @property
    def zero(self) -> int:
        return 1

    @property
    def code_bits(self) -> int:
        return 2

    def unpack_codes(self, packed: Tensor, numel: int) -> Tensor:
        return kernel.unpack_trits(packed, numel)

    def pack_codes(self, codes: Tensor) -> Tensor:
        return kernel.pack_trits(codes)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return self.by.scales(numel), Part(torch.uint8, kernel.trit_bytes(numel))

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        _, (scale, short) = self.by.encode(x, draw)
        full = kernel.restore_zero_runs(short, kernel.trit_bytes(x.numel()))
        assert full is not None, "just written"
        return 0, (scale, full)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        return self.by.decode(parts, numel, parts[-1].numel(), draw)

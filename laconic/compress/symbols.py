"""Quantizers whose codes are small whole numbers: what a lossless coding may write shorter.

One part of such a message, the last one unless it says otherwise, holds the codes, packed; a code is a level, `zero`
the one that means 0, or the likeliest where none does. A coding gets symbols instead, the likely ones first: 0 for
zero, then 1, 2, 3, ... for the codes zero + 1, zero - 1, zero + 2, ...
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.core.errors import PayloadError


class AbstractSymbols(ABC):
    """Concrete classes say `alphabet`, `zero` and `code_bits`; or pack in their own way."""

    coded_part: ClassVar[int] = -1  # which part of a message holds the codes

    def code_count(self, numel: int) -> int:
        """How many codes there are for so many elements."""
        return numel

    @property
    @abstractmethod
    def alphabet(self) -> int:
        """Codes are 0 .. alphabet - 1."""

    @property
    @abstractmethod
    def zero(self) -> int:
        """The code of 0."""

    @property
    @abstractmethod
    def code_bits(self) -> int: ...

    def unpack_codes(self, packed: Tensor, numel: int) -> Tensor:
        """The last part of a message -> uint8 codes."""
        return kernel.unpack(packed, self.code_bits, numel)

    def pack_codes(self, codes: Tensor) -> Tensor:
        return kernel.pack(codes, self.code_bits)

    def to_symbols(self, packed: Tensor, numel: int) -> Tensor:
        """uint8, below `symbol_count`."""
        level = self.unpack_codes(packed, numel).to(torch.int16) - self.zero
        return torch.where(level > 0, 2 * level - 1, -2 * level).to(torch.uint8)

    def from_symbols(self, symbols: Tensor) -> Tensor:
        up = (symbols & 1).to(torch.bool)
        half = (symbols.to(torch.int16) + 1) >> 1
        codes = self.zero + torch.where(up, half, -half)
        if codes.numel() and not (codes.amin() >= 0 and codes.amax() < self.alphabet):
            raise PayloadError(f"A coded message holds a level outside the {self.alphabet} there are.")
        return self.pack_codes(codes.to(torch.uint8))

    @property
    def symbol_count(self) -> int:
        """Levels may reach further on one side of zero; symbols leave the places on the other free."""
        return max(2 * (self.alphabet - 1 - self.zero), 2 * self.zero + 1)

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

from laconic.compress import QSGD
from laconic.compress.symbols import AbstractSymbols
from laconic.core.errors import PayloadError
from laconic.kernels import reference as kernel


@dataclass(frozen=True)
class Lopsided(AbstractSymbols):
    """Levels -1 .. 6."""

    alphabet: int = 8
    zero: int = 1
    code_bits: int = 3


def test_zero_comes_first_then_its_neighbours():
    codes = torch.tensor([1, 2, 0, 3, 7], dtype=torch.uint8)
    symbols = Lopsided().to_symbols(kernel.pack(codes, 3), 5)
    assert symbols.tolist() == [0, 1, 2, 3, 11]
    assert Lopsided().symbol_count == 12
    assert kernel.unpack(Lopsided().from_symbols(symbols), 3, 5).tolist() == codes.tolist()


def test_a_level_that_is_not_there_is_refused():
    with pytest.raises(PayloadError, match="outside the 8"):
        Lopsided().from_symbols(torch.tensor([4], dtype=torch.uint8))  # level -2


@pytest.mark.parametrize("bits", range(2, 9))
def test_every_code_of_a_quantizer_comes_back(bits: int):
    q = QSGD(bits)
    codes = torch.arange(q.alphabet, dtype=torch.uint8)
    symbols = q.to_symbols(kernel.pack(codes, bits), q.alphabet)
    assert sorted(symbols.tolist()) == list(range(q.symbol_count))
    assert torch.equal(q.from_symbols(symbols), kernel.pack(codes, bits))

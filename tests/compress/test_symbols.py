from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

from laconic.compress import NUQSGD, QSGD, Dithering, Eden, EightBit, KLevel, Levels, MinMax, Natural
from laconic.compress.eightbit import table
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


OTHERS = [KLevel(5), KLevel(256), MinMax(1), MinMax(8), Dithering(6), NUQSGD(), Levels("0.5 1"), Natural()]
OTHERS += [EightBit("dynamic"), EightBit("linear"), EightBit("float"), Eden(1), Eden(4)]


@pytest.mark.parametrize("q", OTHERS, ids=str)
def test_every_code_of_other_quantizers_fits_a_byte_and_comes_back(q: AbstractSymbols):
    codes = torch.arange(q.alphabet, dtype=torch.uint8)
    packed = q.pack_codes(codes)
    symbols = q.to_symbols(packed, q.alphabet)
    assert q.symbol_count <= 256
    assert len(set(symbols.tolist())) == q.alphabet
    assert int(symbols.max()) < q.symbol_count
    assert torch.equal(q.from_symbols(symbols), packed)


@pytest.mark.parametrize("kind", ["dynamic", "linear", "float"])
def test_zero_of_the_8_bit_tables_is_in_the_middle(kind: str):
    assert table(kind)[EightBit(kind).zero] == 0

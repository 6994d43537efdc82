from __future__ import annotations

import pytest
import torch

from laconic.kernels import reference
from laconic.kernels.cpu import pack
from tests.kernels.parity import SIZES


@pytest.mark.parametrize("bits", range(1, 9))
def test_packing_compiled_is_packing_in_plain_torch(bits: int):
    for n in SIZES:
        codes = (torch.arange(n) * 7919 % (1 << bits)).to(torch.uint8)
        packed = pack.pack(codes, bits)
        assert torch.equal(packed, reference.pack(codes, bits)), n
        assert torch.equal(pack.unpack(packed, bits, n), codes), n


def test_codes_that_are_not_contiguous_are_packed_as_they_read():
    codes = (torch.arange(1000) % 16).to(torch.uint8)
    assert torch.equal(pack.pack(codes[::2], 4), reference.pack(codes[::2].clone(), 4))

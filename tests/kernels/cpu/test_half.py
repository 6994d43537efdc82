from __future__ import annotations

import pytest
import torch

from laconic.kernels import reference
from laconic.kernels.cpu import half
from tests.kernels.parity import SIZES, same_bits, vectors
from tests.zoo import noise


@pytest.mark.parametrize(("kind", "top"), [(torch.float16, 6e4), (torch.bfloat16, 3.3e38)])
def test_halves_are_those_of_torch(kind: torch.dtype, top: float):
    for n in SIZES:
        for what, x in vectors(n):
            mine, theirs = torch.empty(n, dtype=kind), torch.empty(n, dtype=kind)
            half.to_half(x, mine, top)
            reference.to_half(x, theirs, top)
            assert same_bits(mine, theirs), f"{what}, {n}"
            a, b = noise(n, 8), noise(n, 8)
            half.half_add(a, mine, 1 / 3)
            reference.half_add(b, mine, 1 / 3)
            assert same_bits(a, b), f"{what}, {n}"

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


def test_a_sum_notices_what_is_not_finite():
    for n in SIZES:
        for what, x in vectors(n):
            mine, theirs, more = torch.empty(n), torch.empty(n), noise(n, 9)
            assert half.add_finite(x, more, mine) == reference.add_finite(x, more, theirs), f"{what}, {n}"
            assert same_bits(mine, theirs)


def test_a_copy_notices_what_is_not_finite():
    for n in SIZES:
        for what, x in vectors(n):
            out = torch.empty(n)
            assert half.copy_finite(x, out) == bool(x.isfinite().all()), f"{what}, {n}"
            assert same_bits(out, x)

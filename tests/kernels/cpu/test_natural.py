"""Powers of two compiled = in plain torch, bit for bit; and they are what they should be."""

from __future__ import annotations

import pytest
import torch

from laconic.core.rng import Stream
from laconic.kernels import reference
from laconic.kernels.cpu import natural, pool
from tests.kernels.parity import SIZES, STREAM, same_bits, vectors
from tests.zoo import noise


@pytest.mark.parametrize("n", SIZES)
def test_compiled_bits_are_those_of_the_reference(n: int):
    for what, x in vectors(n):
        mine = torch.full((n,), 9, dtype=torch.uint8), torch.full((-(-n // 8),), 9, dtype=torch.uint8)
        theirs = tuple(t.clone() for t in mine)
        natural.natural_pack(x, *mine, STREAM)
        reference.natural_pack(x, *theirs, STREAM)
        assert all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True)), what
        for name in ("natural_unpack", "natural_add"):
            a, b = noise(n, 8), noise(n, 8)
            getattr(natural, name)(a, *mine, 1 / 3)
            getattr(reference, name)(b, *theirs, 1 / 3)
            assert same_bits(a, b), f"{name}: {what}"


def said(x: torch.Tensor, stream: Stream) -> torch.Tensor:
    n = x.numel()
    exponent, signs, out = torch.empty(n, dtype=torch.uint8), torch.empty(-(-n // 8), dtype=torch.uint8), torch.empty(n)
    natural.natural_pack(x, exponent, signs, stream)
    natural.natural_unpack(out, exponent, signs, 1.0)
    return out


def test_powers_of_two_and_zeros_are_exact():
    x = torch.tensor([1.0, -2.0, 0.0, -0.0, 2.0**-126, -(2.0**127)])
    assert same_bits(said(x, STREAM), x)


def test_three_quarters_is_half_or_one_alike_often():
    out = said(torch.full((100_000,), 0.75), STREAM)
    assert set(out.tolist()) == {0.5, 1.0}
    assert abs(float(out.mean()) - 0.75) < 5 * 0.25 / 100_000**0.5


def test_what_is_not_finite_is_not_hidden():
    x = torch.tensor([torch.nan, torch.inf, -torch.inf])
    assert not said(x, STREAM).isfinite().any()


def test_any_number_of_threads_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch):
    x = noise(40_003, 1)
    alone = said(x, STREAM)
    monkeypatch.setattr(pool, "ENOUGH", 1000)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert torch.equal(said(x, STREAM), alone)

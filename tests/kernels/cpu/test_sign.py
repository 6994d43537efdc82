"""Signs compiled = signs in plain torch, bit for bit."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from laconic.kernels import reference
from laconic.kernels.cpu import pool, sign
from tests.kernels.parity import SIZES, same_bits, vectors
from tests.zoo import noise


def parts(n: int, block: int) -> tuple[Tensor, Tensor]:
    return torch.full((-(-n // block),), 7.0), torch.full((-(-n // 8),), 0xAA, dtype=torch.uint8)


def blocks(n: int) -> tuple[int, ...]:
    """Small, odd, usual, larger than a piece of a sum, and one for everything."""
    return 8, 24, 1024, 2048, max(n, 1)


@pytest.mark.parametrize("n", SIZES)
def test_bits_and_means_are_those_of_the_reference(n: int):
    for block in blocks(n):
        for what, x in vectors(n):
            mine, theirs = parts(n, block), parts(n, block)
            sign.sign_pack(x, *mine, block)
            reference.sign_pack(x, *theirs, block)
            assert same_bits(mine[0], theirs[0]), f"{what}, blocks of {block}"
            assert torch.equal(mine[1], theirs[1]), f"{what}, blocks of {block}"


@pytest.mark.parametrize("n", SIZES)
def test_values_and_error_feedback_are_those_of_the_reference(n: int):
    for block in blocks(n):
        for what, x in vectors(n):
            e, a, b = noise(n, 9), torch.full((n,), 3.0), torch.full((n,), 4.0)
            mine, theirs = parts(n, block), parts(n, block)
            sign.sign_keep(x, e, a, 0.6, *mine, block)
            reference.sign_keep(x, e, b, 0.6, *theirs, block)
            assert same_bits(a, b), f"{what}, blocks of {block}"
            for name in ("sign_unpack", "sign_add"):
                a, b = noise(n, 8), noise(n, 8)
                getattr(sign, name)(a, *mine, block, 1 / 3)
                getattr(reference, name)(b, *theirs, block, 1 / 3)
                assert same_bits(a, b), f"{name}: {what}, blocks of {block}"


def test_any_number_of_threads_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch):
    n, x = 40_003, noise(40_003, 1)
    alone, out = parts(n, 24), torch.empty(n)
    sign.sign_pack(x, *alone, 24)
    sign.sign_unpack(out, *alone, 24, 0.5)
    monkeypatch.setattr(pool, "ENOUGH", 1000)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    shared, other = parts(n, 24), torch.empty(n)
    sign.sign_pack(x, *shared, 24)
    sign.sign_unpack(other, *shared, 24, 0.5)
    assert torch.equal(out, other)
    assert all(torch.equal(a, b) for a, b in zip(alone, shared, strict=True))


def test_the_sum_of_a_block_does_not_overflow():
    x = torch.full((4096,), 3e38)
    scale, packed = parts(4096, 4096)
    sign.sign_pack(x, scale, packed, 4096)
    assert scale.tolist() == x[:1].tolist()

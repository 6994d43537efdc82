from __future__ import annotations

import math

import pytest
import torch

from laconic.compress import QSGD
from laconic.compress.base import Draw
from laconic.core.bucket import one_tensor
from laconic.core.rng import Stream
from laconic.kernels.choose import plain
from tests.laws.world import World
from tests.zoo import noise


class _Fixed:
    """A stream whose numbers are all the same: the share u of 2**16."""

    def __init__(self, u: float) -> None:
        self.u = u

    def halves(self, n: int, device: object = "cpu") -> torch.Tensor:
        return torch.full((n,), int(self.u * 65536))


def encode(x: list[float], u: float, compressor: QSGD) -> tuple[torch.Tensor, ...]:
    draw = Draw(_Fixed(u), Stream(0))  # type: ignore[arg-type]
    with plain():  # compiled kernels make their own numbers from a stream's key
        return compressor.encode(torch.tensor(x), draw)[1]


def decode(parts: tuple[torch.Tensor, ...], n: int, compressor: QSGD) -> list[float]:
    return compressor.decode(parts, n, 0, Draw(Stream(0), Stream(0))).tolist()


def test_three_levels_by_hand():
    # Two bits: s = 1, levels -M, 0, M with M = 2; 0.5 is a quarter of the way up.
    two = QSGD(2)
    scale, codes = encode([2.0, 0.5, -0.5, 0.0], 0.0, two)
    assert scale.tolist() == [2.0]
    assert codes.tolist() == [0b01_00_01_10]  # levels 1, 0, -1, 0 as codes 2, 1, 0, 1
    assert decode((scale, codes), 4, two) == [2.0, 0.0, -2.0, 0.0]
    assert decode(encode([2.0, 0.5, -0.5, 0.0], 0.8, two), 4, two) == [2.0, 2.0, 0.0, 0.0]


def test_seven_levels_round_down_or_up():
    four = QSGD(4)  # s = 7
    assert decode(encode([7.0, 2.5, -2.5], 0.4, four), 3, four) == pytest.approx([7.0, 2.0, -3.0])
    assert decode(encode([7.0, 2.5, -2.5], 0.6, four), 3, four) == pytest.approx([7.0, 3.0, -2.0])


def test_every_block_has_its_own_scale():
    eight = QSGD(4, block=8)
    scale, _ = encode([1.0] * 8 + [100.0] * 3, 0.5, eight)
    assert scale.tolist() == [1.0, 100.0]


def test_the_l2_scale_is_the_norm():
    scale, _ = encode([3.0, 4.0], 0.5, QSGD(4, norm="l2"))
    assert scale.tolist() == pytest.approx([5.0])


@pytest.mark.parametrize("norm", ["max", "l2"])
def test_zeros_need_no_scale(norm: str):
    q = QSGD(4, norm=norm)
    assert decode(encode([0.0] * 5, 0.99, q), 5, q) == [0.0] * 5


def test_the_claimed_variance_is_reached_by_its_worst_case():
    # One spike over B-1 elements at f M/s with f = 1/(1 + sqrt(1 + c)), c = (B-1)/s^2.
    q, b = QSGD(2), 256
    c = (b - 1) / q.levels**2
    f = 1 / (1 + math.sqrt(1 + c))
    ratio = c * f * (1 - f) / (1 + c * f * f)
    assert q.traits(one_tensor(b)).omega == pytest.approx(ratio)


def test_bits_and_scales():
    assert QSGD(4, block=64).payload_bits(one_tensor(130)) == 3 * 32 + 8 * 65
    assert QSGD(3, block=64).payload_bits(one_tensor(5)) == 32 + 16
    assert QSGD(4).payload_bits(one_tensor(0)) == 0


def test_the_variance_is_that_of_the_fractions():
    """E|Q - v|^2 = (M/s)^2 sum f (1 - f), f the fraction of s|v|/M: exact, not only bounded."""
    v, s = noise(256, 9), QSGD(4).levels
    draws = [World(QSGD(4), 1, "gather", one_tensor(256)).exchange([v.clone()], step)[0].sent for step in range(200)]
    errors = torch.stack([(d - v).double().pow(2).sum() for d in draws])
    step = v.abs().max().double() / s
    f = (v.abs().double() / step).frac()
    want, sigma = step**2 * (f * (1 - f)).sum(), errors.std() / len(draws) ** 0.5
    assert abs(float(errors.mean() - want)) <= 5 * float(sigma)

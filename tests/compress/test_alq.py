from __future__ import annotations

import pytest
import torch

from laconic.compress import ALQ, QSGD, AbstractCompressor
from laconic.core.bucket import one_tensor
from laconic.core.rng import Stream
from tests.compress.test_adaptive_levels import uniform
from tests.laws.world import World


def laplace(n: int, salt: int) -> torch.Tensor:
    u = Stream(salt).uniform(n) - 0.5
    return -u.sign() * (1 - 2 * u.abs()).clamp(min=1e-7).log()


def _variance(world: World, x: torch.Tensor, start: int) -> float:
    errors = [world.exchange([x], start + step)[0].sent - x for step in range(5)]
    return float(torch.stack(errors).pow(2).sum(1).mean() / x.pow(2).sum())


def test_even_spread_wants_even_levels():
    levels = ALQ(3).fit(uniform(), ALQ(3).first())
    assert levels == pytest.approx((0, 1 / 3, 2 / 3, 1), abs=1e-3)


def test_no_sweep_makes_it_worse():
    seen, levels = uniform(), ALQ(4).first()
    fitted = ALQ(4).fit(seen, levels)
    assert seen.variance(fitted) < seen.variance(levels)
    assert seen.variance(ALQ(4).fit(seen, fitted)) <= seen.variance(fitted)


def test_fitted_levels_have_a_fraction_of_the_variance_of_even_ones():
    x, spec = laplace(8192, 1), one_tensor(8192)
    fitted = World(ALQ(3, block=8192, refresh=1), 1, "gather", spec)
    fitted.exchange([laplace(8192, 2)], 0)
    even = World(QSGD(3, block=8192, norm="l2"), 1, "gather", spec)
    assert _variance(fitted, x, 1) < 1.0  # 0.5 where they were fitted
    assert _variance(even, x, 1) > 20.0


def test_three_bits_and_a_norm_a_block():
    compressor: AbstractCompressor = ALQ(3, block=1024)
    assert compressor.payload_bits(one_tensor(2048)) == 3 * 2048 + 64

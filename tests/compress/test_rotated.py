from __future__ import annotations

import math

import pytest
import torch

from laconic.compress import KLevel, Rotated
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise


def _variance(compressor: KLevel | Rotated, x: torch.Tensor, draws: int = 200) -> float:
    n = x.numel()
    errors = [World(compressor, 1, "gather", one_tensor(n)).exchange([x], s)[0].sent - x for s in range(draws)]
    return float(torch.stack(errors).pow(2).sum(1).mean() / x.pow(2).sum())


def test_a_spike_among_small_ones_is_spread_before_it_is_rounded():
    x = noise(64) * 0.01
    x[5] = 1.0
    assert _variance(Rotated(2, block=64), x) < _variance(KLevel(2, block=64), x)


def test_equal_elements_are_better_left_alone():
    x = torch.ones(64)
    assert _variance(KLevel(2, block=64), x) == 0
    assert _variance(Rotated(2, block=64), x) > 1


@pytest.mark.parametrize("k", [2, 16])
def test_the_variance_is_within_the_bound_of_the_paper(k: int):
    d = 128
    assert _variance(Rotated(k, block=d), noise(d)) <= (2 * math.log(d) + 2) / (k - 1) ** 2


def test_the_last_block_is_filled_up_only_to_its_own_power_of_two():
    assert Rotated(16, block=64).payload_bits(one_tensor(64 + 9)) == 4 * (64 + 16) + 2 * 64


def test_a_block_that_is_no_power_of_two_is_refused():
    with pytest.raises(PlanError, match="power of two"):
        Rotated(block=48)

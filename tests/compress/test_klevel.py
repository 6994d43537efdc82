from __future__ import annotations

import pytest
import torch

from laconic.compress import KLevel
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise


def test_three_levels_are_the_ends_and_the_middle():
    x = torch.tensor([-1.0, 3.0, 1.0, 2.0])
    said = {tuple(World(KLevel(3), 1, "gather", one_tensor(4)).exchange([x], s)[0].mean.tolist()) for s in range(20)}
    assert said == {(-1.0, 3.0, 1.0, 1.0), (-1.0, 3.0, 1.0, 3.0)}


@pytest.mark.parametrize("k", [2, 16])
def test_the_variance_is_within_the_bound_of_the_paper(k: int):
    n = 128
    x = noise(n)
    errors = [World(KLevel(k), 1, "gather", one_tensor(n)).exchange([x], s)[0].sent - x for s in range(200)]
    measured = float(torch.stack(errors).pow(2).sum(1).mean() / x.pow(2).sum())
    assert measured <= n / (2 * (k - 1) ** 2)
    assert KLevel(k).traits(one_tensor(n)).omega == (n - 2) / (2 * (k - 1) ** 2)


def test_as_many_bits_as_the_levels_need():
    assert KLevel(2).payload_bits(one_tensor(512)) == 512 + 64
    assert KLevel(5).payload_bits(one_tensor(512)) == 3 * 512 + 64


@pytest.mark.parametrize("k", [1, 257, 2.5])
def test_a_number_of_levels_that_cannot_be_is_refused(k: int):
    with pytest.raises(PlanError, match="2 to 256 levels"):
        KLevel(k)

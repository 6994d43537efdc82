from __future__ import annotations

import pytest
import torch

from laconic.compress import Majority
from laconic.core.bucket import one_tensor
from tests.laws.world import World
from tests.zoo import noise


@pytest.mark.parametrize("route", ["gather", "deal"])
def test_the_sign_of_most_ranks_wins(route: str):
    xs = [torch.tensor([1.0, -5.0, 0.1]), torch.tensor([-9.0, -5.0, 0.1]), torch.tensor([1.0, 5.0, 0.1])]
    out = World(Majority(), 3, route, one_tensor(3)).exchange(xs)
    assert out[0].mean.tolist() == [1.0, -1.0, 1.0]


@pytest.mark.parametrize("route", ["gather", "deal"])
@pytest.mark.parametrize("size", [3, 5, 8])
def test_fewer_than_half_of_the_ranks_may_lie(size: int, route: str):
    x, liars = noise(100), (size - 1) // 2
    honest = World(Majority(), size, route, one_tensor(100)).exchange([x.clone() for _ in range(size)])
    mixed = [-x if rank < liars else x.clone() for rank in range(size)]
    out = World(Majority(), size, route, one_tensor(100)).exchange(mixed)
    assert torch.equal(out[0].mean, honest[0].mean)


@pytest.mark.parametrize("route", ["gather", "deal"])
@pytest.mark.parametrize("size", [2, 4, 6])
def test_a_tie_is_a_tie_in_any_order(size: int, route: str):
    x = torch.ones(9)
    for first in (1.0, -1.0):
        xs = [x * first if rank < size // 2 else -x * first for rank in range(size)]
        assert World(Majority(), size, route, one_tensor(9)).exchange(xs)[0].mean.tolist() == [1.0] * 9
        assert World(Majority("zero"), size, route, one_tensor(9)).exchange(xs)[0].mean.tolist() == [0.0] * 9


def test_one_bit_up_and_one_down():
    world = World(Majority(), 4, "deal", one_tensor(4 * 800))
    world.exchange(world.inputs())
    assert world.links[0].sent_bytes == 3 * (24 + 100) + 3 * (24 + 100)

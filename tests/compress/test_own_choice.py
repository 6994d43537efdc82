"""ownmask and ibcd: random elements or blocks that a seed of 32 bits tells."""

from __future__ import annotations

import pytest
import torch

from laconic.compress import IBCD, OwnMask
from laconic.compress.base import Draw
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.core.rng import Stream
from tests.laws.world import World
from tests.zoo import noise

DRAW = Draw(Stream(1), Stream(2))


def test_a_message_is_a_seed_and_values():
    aux, (seed, values) = OwnMask(0.25).encode(torch.arange(1.0, 9.0), DRAW)
    assert (seed.dtype, seed.numel(), values.numel()) == (torch.int32, 1, 2)
    again = OwnMask(0.25).decode((seed, values), 8, aux, Draw(Stream(77), Stream(78)))  # no randomness of the reader
    assert sorted(again.tolist())[-2:] == sorted(values.tolist())
    assert OwnMask(0.25).payload_bits(one_tensor(800)) == 32 + 200 * 32


def test_ranks_choose_differently():
    world = World(OwnMask(0.25), 4, "gather", one_tensor(64))
    out = world.exchange([torch.ones(64)] * 4)
    assert len({tuple(o.sent.tolist()) for o in out}) == 4
    assert out[0].mean.count_nonzero() > 16  # their union


def test_every_coordinate_is_said_sooner_or_later():
    world = World(OwnMask(0.1), 1, "gather", one_tensor(50))
    seen = sum(world.exchange([torch.ones(50)], step)[0].sent for step in range(80))
    assert int((seen > 0).sum()) == 50


def test_a_short_last_block_is_said_as_far_as_it_goes():
    (out,) = World(IBCD(1, block=4), 1, "gather", one_tensor(6)).exchange([torch.arange(6.0)])
    assert out.sent.tolist() == [0, 1, 2, 3, 4, 5]
    assert IBCD(0.5, block=4).payload_bits(one_tensor(6)) == 32 + 4 * 32


def test_blocks_are_scaled_by_how_few_are_said():
    (out,) = World(IBCD(0.25, block=2), 1, "gather", one_tensor(8)).exchange([torch.ones(8)])
    assert sorted(out.sent.tolist()) == [0] * 6 + [4, 4]


@pytest.mark.parametrize("ranks", [2, 4])
def test_with_one_nth_of_the_blocks_from_each_of_n_ranks_the_variance_is_almost_one(ranks: int):
    # m/t = n: omega/n = (n-1)/n, whatever n is: the claim of the paper.
    x = noise(32, 6)
    errors = []
    for step in range(300):
        out = World(IBCD(1 / ranks, block=4), ranks, "gather", one_tensor(32)).exchange([x.clone()] * ranks, step)
        errors.append(float((out[0].mean - x).pow(2).sum() / x.pow(2).sum()))
    assert sum(errors) / 300 == pytest.approx((ranks - 1) / ranks, rel=0.12)


def test_bad_settings_are_refused():
    with pytest.raises(PlanError, match="above 0 and at most 1"):
        OwnMask(0)
    with pytest.raises(PlanError, match="whole number of elements"):
        IBCD(0.5, block=0)

"""randommask, randomblock, bernoulli: one file for the family, whose exchange is shared."""

from __future__ import annotations

import pytest
import torch

from laconic.compress import Bernoulli, ErrorFeedback, RandomBlock, RandomK, RandomMask
from laconic.compress.base import AbstractSelector, Draw
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.core.rng import Stream
from tests.laws.world import World
from tests.zoo import noise

FAMILY = (RandomMask(0.25), RandomBlock(0.25), Bernoulli(0.25))


def draw(salt: int) -> Draw:
    return Draw(Stream(1000 + salt), Stream(salt))


@pytest.mark.parametrize("compressor", FAMILY, ids=str)
def test_every_rank_draws_the_same_elements_and_another_step_draws_others(compressor: RandomMask):
    world = World(compressor, 3, spec=one_tensor(64))
    where = [[o.sent.nonzero().view(-1).tolist() for o in world.exchange(world.inputs(), step)] for step in (0, 1)]
    assert where[0][0] == where[0][1] == where[0][2] != where[1][0]


@pytest.mark.parametrize("compressor", FAMILY, ids=str)
def test_every_element_is_said_sooner_or_later(compressor: AbstractSelector):
    x = torch.ones(40)
    seen = torch.cat([compressor.select(x, draw(i)) for i in range(60)])
    assert seen.unique().numel() == 40
    counts = seen.bincount(minlength=40)
    assert counts.min() >= 4  # 15 expected
    assert counts.max() <= 30


def test_the_same_seed_draws_the_same_elements_on_every_platform():
    assert RandomMask(0.1).select(torch.zeros(100), draw(5)).tolist() == Stream(5).choice(100, 10).tolist()
    assert Stream(5).choice(1000, 5).tolist() == [99, 261, 276, 445, 874]


def test_a_mask_does_not_scale_and_random_k_does():
    x = torch.full((8,), 3.0)
    (masked,), (scaled,) = (World(c, 1, spec=one_tensor(8)).exchange([x]) for c in (RandomMask(0.25), RandomK(0.25)))
    assert sorted(masked.sent.tolist()) == [0] * 6 + [3, 3]
    assert torch.equal(4 * masked.sent, scaled.sent)


def test_inside_a_memory_mask_and_random_k_are_the_same():
    worlds = [World(ErrorFeedback(c), 2, spec=one_tensor(32)) for c in (RandomMask(0.25), RandomK(0.25))]
    for step in range(5):
        a, b = (w.exchange(w.inputs(step), step)[0].mean for w in worlds)
        assert torch.allclose(a, b)


def test_keeping_all_is_the_mean():
    for compressor in (RandomMask(1), RandomBlock(1), Bernoulli(1)):
        world = World(compressor, 2, spec=one_tensor(9))
        xs = world.inputs()
        assert torch.allclose(world.exchange(xs)[0].mean, torch.stack(xs).mean(0))


def test_a_block_is_a_run_that_may_go_round_the_end():
    runs = [RandomBlock(0.5).select(torch.zeros(6), draw(i)).tolist() for i in range(40)]
    assert {tuple(r) for r in runs} == {(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 5), (0, 4, 5), (0, 1, 5)}


def test_the_number_of_coins_that_fall_well_is_random_but_shared():
    counts = [Bernoulli(0.25).select(torch.zeros(400), draw(i)).numel() for i in range(50)]
    assert len(set(counts)) > 10
    assert sum(counts) / 50 == pytest.approx(100, abs=7)  # 5 sigma: sqrt(400 x 3/16 / 50) = 1.2
    assert Bernoulli(0.25).payload_bits(one_tensor(400)) == 3200


@pytest.mark.parametrize("kind", [RandomMask, RandomBlock, Bernoulli])
def test_a_share_outside_zero_to_one_is_refused(kind: type[RandomMask]):
    with pytest.raises(PlanError, match="above 0 and at most 1"):
        kind(0)


def test_the_variance_of_scaled_sampling_is_exactly_as_claimed():
    x = noise(30, 5)
    for compressor in (RandomBlock(0.2), Bernoulli(0.2)):
        errors = []
        for step in range(400):
            (out,) = World(compressor, 1, spec=one_tensor(30)).exchange([x.clone()], step)
            errors.append(float((out.sent - x).pow(2).sum() / x.pow(2).sum()))
        assert sum(errors) / 400 == pytest.approx(4.0, rel=0.15)

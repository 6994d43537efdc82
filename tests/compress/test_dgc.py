from __future__ import annotations

import math

import pytest
import torch

from laconic.compress import DGC, ErrorFeedback
from laconic.compress.base import Draw
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.core.rng import Stream
from tests.laws.world import World
from tests.zoo import noise

DRAW = Draw(Stream(1), Stream(2))


def test_three_steps_by_hand():
    world = World(DGC(0.5, momentum=0.5), 1, "gather", one_tensor(2))
    said = [world.exchange([torch.tensor(x)], s)[0].sent.tolist() for s, x in enumerate([[4.0, 2], [0.0, 2], [0.0, 0]])]
    # v: 4 2 -> says 4; u: 0 2. Then u: 0 3, v: 0 5 -> says 5 with the momentum of the first step; u is masked.
    assert said == [[4, 0], [0, 5], [0, 0]]
    assert world.states[0].velocity.tolist() == [0, 0]


def test_saying_everything_with_masking_is_plain_sgd():
    world = World(DGC(1, momentum=0.9), 2, "gather", one_tensor(8))
    for step in range(5):
        xs = world.inputs(step)
        assert torch.allclose(world.exchange(xs, step)[0].mean, torch.stack(xs).mean(0), atol=1e-6)


def test_saying_everything_without_masking_is_momentum_sgd():
    world = World(DGC(1, momentum=0.9, mask="none"), 2, "gather", one_tensor(8))
    momentum = torch.zeros(8)
    for step in range(8):
        xs = world.inputs(step)
        momentum = 0.9 * momentum + torch.stack(xs).mean(0)
        assert torch.allclose(world.exchange(xs, step)[0].mean, momentum, atol=1e-5)


def test_without_masking_what_is_said_and_kept_is_the_sum_of_the_velocities():
    world = World(DGC(0.1, momentum=0.7, mask="none"), 1, "gather", one_tensor(50))
    u = total = sent = torch.zeros(50)
    for step in range(20):
        x = noise(50, step)
        u = 0.7 * u + x
        total = total + u
        sent = sent + world.exchange([x], step)[0].sent
    assert torch.allclose(sent + world.states[0].residual, total, atol=1e-4)


@pytest.mark.parametrize("salt", range(3))
def test_a_sample_selects_about_k(salt: int):
    x = noise(100_000, salt)
    n = DGC(0.01).select(x, Draw(Stream(salt), Stream(0))).numel()
    assert 800 <= n <= 1300


def test_a_threshold_too_high_is_lowered_and_one_too_low_is_cut():
    heavy = torch.cat([torch.full((1000,), 5.0), noise(99_000, 3)])
    assert DGC(0.01).select(heavy, DRAW).numel() <= 1300
    ties = torch.ones(100_000)
    assert DGC(0.01).select(ties, DRAW).numel() == 1000


@pytest.mark.parametrize("ranks", [1, 4])
def test_local_clipping_leaves_room_for_all_ranks(ranks: int):
    world = World(DGC(1, clip=3.0), ranks, "gather", one_tensor(16))
    out = world.exchange([10 * x for x in world.inputs()])
    assert float(out[0].sent.norm()) == pytest.approx(3 / math.sqrt(ranks), rel=1e-5)
    world = World(DGC(1, clip=1e6), 1, "gather", one_tensor(16))
    assert torch.equal(world.exchange([noise(16)])[0].sent, noise(16))


@pytest.mark.parametrize("bad", [{"ratio": 0.0}, {"momentum": 1.0}, {"clip": -1.0}, {"mask": "all"}])
def test_bad_settings_are_refused(bad: dict[str, object]):
    with pytest.raises(PlanError, match="dgc"):
        DGC(**bad)  # type: ignore[arg-type]


def test_a_second_memory_is_refused():
    with pytest.raises(PlanError, match="already remembers"):
        ErrorFeedback(DGC())

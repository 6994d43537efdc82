from __future__ import annotations

import pytest
import torch

from laconic.compress import QSGD, AsyLPG
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise

SPEC = one_tensor(256)


@pytest.mark.parametrize("mu", [0.5, 0.05, 0.001])
def test_the_error_is_within_its_share(mu: float):
    x = noise(256)
    errors = [World(AsyLPG(mu), 1, "gather", SPEC).exchange([x], step)[0].sent - x for step in range(100)]
    assert float(torch.stack(errors).pow(2).sum(1).mean() / x.pow(2).sum()) <= mu * 1.05


def test_no_more_bits_are_taken_than_needed():
    x = noise(256)
    sizes = []
    for mu in (0.5, 0.05, 0.001):
        world = World(AsyLPG(mu), 2, "gather", SPEC)
        world.exchange([x, x.clone()])
        sizes.append(world.links[0].sent_bytes - 4 - 24 - 4)
    assert sizes == [32 * bits for bits in (3, 4, 7)]


def test_no_error_at_all_is_the_raw_difference():
    world = World(AsyLPG(0), 3, "gather", SPEC)
    xs = world.inputs()
    assert torch.allclose(world.exchange(xs)[0].mean, torch.stack(xs).mean(0), atol=1e-6)


def test_all_take_the_bits_of_the_rank_that_needs_most():
    easy, hard = torch.ones(256), noise(256)
    out = World(AsyLPG(0.05), 2, "gather", SPEC).exchange([easy, hard])
    assert torch.equal(out[1].sent, World(QSGD(4), 2, "gather", SPEC).exchange([easy, hard])[1].sent)


@pytest.mark.parametrize("mu", [-0.1, 1.0])
def test_a_share_that_is_none_is_refused(mu: float):
    with pytest.raises(PlanError, match="share of the squared norm"):
        AsyLPG(mu)

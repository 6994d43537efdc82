from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from laconic.compress import ErrorFeedback, GradZip, PowerSGD
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.distribute import distribute
from tests.laws.world import World
from tests.zoo import noise

SPEC = BucketSpec(0, ("w", "b"), ((16, 12), (3,)))
MATRIX = BucketSpec(0, ("w",), ((16, 12),))


def test_on_a_fixed_matrix_the_error_never_rises_and_ends_at_the_best():
    world, x = World(GradZip(2), 1, spec=MATRIX), noise(192)
    errors = [float((world.exchange([x.clone()], step)[0].mean - x).norm()) for step in range(80)]
    assert all(b <= a + 1e-5 for a, b in pairwise(errors))
    best = float(torch.linalg.svdvals(x.view(16, 12))[2:].norm())
    assert errors[-1] < 1.001 * best


def test_a_matrix_of_its_rank_is_exact_from_the_second_step():
    world = World(GradZip(1), 2, spec=SPEC)
    x = torch.cat([(noise(16, 1).view(16, 1) @ noise(12, 2).view(1, 12)).view(-1), torch.ones(3)])
    for step in range(2):
        out = world.exchange([x.clone(), x.clone()], step)
    assert torch.allclose(out[0].mean, x, atol=1e-4)


def test_one_side_a_step_by_hand():
    world = World(GradZip(1), 2, spec=MATRIX)
    xs = world.inputs()
    q = world.states[0].right[0].clone()
    mean = sum(x.view(16, 12) for x in xs) / 2
    out = world.exchange(xs, 0)
    assert torch.allclose(out[0].mean.view(16, 12), mean @ q @ q.T, atol=1e-5)
    p = world.states[0].left[0]
    assert torch.allclose(p.T @ p, torch.eye(1), atol=1e-5)
    assert torch.equal(world.states[0].right[0], q)


def test_two_steps_cost_what_one_of_powersgd_costs():
    world = World(GradZip(1), 2, spec=MATRIX)
    for step in range(2):
        world.exchange(world.inputs(step), step)
    assert world.links[0].sent_bytes == 4 * (16 + 12)
    assert 2 * GradZip(1).payload_bits(MATRIX) == PowerSGD(1).payload_bits(MATRIX)


def test_a_zero_gradient_and_a_lost_rank_do_not_end_the_iteration():
    world = World(GradZip(2), 1, spec=MATRIX)
    one = (noise(16, 1).view(16, 1) @ noise(12, 2).view(1, 12)).view(-1)
    two = noise(16, 3).view(16, 1) @ noise(12, 4).view(1, 12)
    for step, x in enumerate((torch.zeros(192), torch.zeros(192), one, one)):
        world.exchange([x], step)
    both = one + two.view(-1)
    errors = [float((world.exchange([both.clone()], step)[0].mean - both).norm()) for step in range(4, 12)]
    assert errors[-1] < 1e-3 * float(both.norm())


def test_in_an_error_memory_everything_is_said_in_the_end():
    world, x = World(ErrorFeedback(GradZip(1)), 1, spec=MATRIX), noise(192)
    total = world.exchange([x.clone()], 0)[0].mean.clone()
    for step in range(1, 80):
        total += world.exchange([torch.zeros(192)], step)[0].mean
    assert torch.allclose(total, x, atol=1e-2)


def test_a_rank_of_nothing_is_refused():
    with pytest.raises(PlanError, match="gradzip"):
        GradZip(0)


def test_both_sides_take_turns_where_blocks_do():
    """By turns of all, a bucket of two blocks would always be at an even one, or always at an odd one."""
    model = torch.nn.Sequential(*(torch.nn.Linear(64, 64, bias=False) for _ in range(4)))
    replica = distribute(model, torch.optim.SGD(model.parameters(), lr=0.1), "gradzip(2) / blocks(2) / wfbp")
    before = list(replica.state)
    for _ in range(4):
        model(torch.ones(2, 64)).sum().backward()
        replica.optimizer.step()
        replica.optimizer.zero_grad()
    for was, now in zip(before, replica.state, strict=True):
        assert not torch.equal(was.left[0], now.left[0])
        assert not torch.equal(was.right[0], now.right[0])
    replica.close()

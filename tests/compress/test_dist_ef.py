from __future__ import annotations

import pytest
import torch

from laconic.compress import ByTensor, DistEF, ErrorFeedback, Identity, Sign, TopK
from laconic.core.bucket import BucketSpec, one_tensor
from tests.laws.test_conservation import owed
from tests.laws.world import World
from tests.zoo import noise

SPEC = one_tensor(64)


def test_without_momentum_at_a_constant_rate_it_is_error_feedback_with_the_scaled_sign():
    ours, theirs = World(DistEF(Sign(), beta=0.0), 1, "gather", SPEC), World(ErrorFeedback(Sign()), 1, "gather", SPEC)
    for step in range(6):
        x = noise(64, step)
        assert torch.equal(ours.exchange([x], step, lr=0.3)[0].mean, theirs.exchange([x], step)[0].mean)


def test_without_loss_it_is_nesterov_momentum():
    parameter = torch.nn.Parameter(torch.zeros(64))
    optimizer = torch.optim.SGD([parameter], lr=1.0, momentum=0.9, nesterov=True)
    world, x = World(DistEF(Identity()), 1, spec=SPEC), torch.zeros(64)
    for step in range(8):
        parameter.grad = noise(64, step)
        x -= world.exchange([noise(64, step)], step)[0].mean
        optimizer.step()
    assert torch.allclose(x, parameter.detach(), atol=1e-5)


@pytest.mark.parametrize("route", ["gather", "deal"])
def test_a_fall_of_the_learning_rate_conserves_what_is_applied(route: str):
    """sum lr (applied) + lr_T (mean e + E) = sum lr (mean x): nothing that was owed is lost or counted tenfold."""
    compressor = DistEF(Sign(block=16), beta=0.0)
    world = World(compressor, 3, route, SPEC)
    came, applied = torch.zeros(2, 64, dtype=torch.float64)
    for step in range(20):
        lr = 0.5 if step < 10 else 0.05
        xs = world.inputs(step)
        applied += lr * world.exchange(xs, step, lr)[0].mean.double()
        came += lr * torch.stack(xs).double().mean(0)
    left = torch.stack([s.core.residual.double() for s in world.states]).mean(0)
    total = applied + 0.05 * (left + owed(compressor, world.states, SPEC))
    assert torch.allclose(total, came, atol=1e-4)
    if route == "deal":
        assert float(owed(compressor, world.states, SPEC).norm()) > 0


def test_at_rate_zero_the_memory_is_left_as_it_is():
    world = World(DistEF(TopK(0.25), beta=0.0), 1, "gather", one_tensor(4))
    world.exchange([torch.tensor([4.0, 1, 0, 0])], 0, lr=0.1)
    world.exchange([torch.zeros(4)], 1, lr=0.0)
    assert world.states[0].core.residual.isfinite().all()
    world.exchange([torch.tensor([4.0, 1, 0, 0])], 2, lr=0.1)
    assert world.states[0].core.residual.tolist() == [0, 1, 0, 0]


def test_a_smaller_rate_makes_what_is_owed_worth_more_by_hand():
    world = World(DistEF(TopK(0.25), beta=0.0), 1, "gather", one_tensor(4))
    world.exchange([torch.tensor([4.0, 1, 0, 0])], 0, lr=0.5)
    (out,) = world.exchange([torch.zeros(4)], 1, lr=0.05)
    assert out.mean.tolist() == pytest.approx([0, 10, 0, 0])


def test_blocks_may_be_tensors():
    spec = BucketSpec(0, ("a", "b"), ((4,), (2,)))
    world = World(DistEF(ByTensor(Sign()), beta=0.0), 1, "gather", spec)
    (out,) = world.exchange([torch.tensor([1.0, -3, 1, -3, 10, -30])])
    assert out.mean.tolist() == [2, -2, 2, -2, 20, -20]

from __future__ import annotations

import math

import pytest
import torch

from laconic.compress import Clipped, ErrorFeedback, Identity, Momentum, TopK
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise


@pytest.mark.parametrize("norm", [0.5, 3.0, 1e3])
def test_alone_it_is_clip_grad_norm(norm: float):
    parameter = torch.nn.Parameter(torch.zeros(20))
    parameter.grad = noise(20).clone()
    torch.nn.utils.clip_grad_norm_([parameter], norm)
    (out,) = World(Clipped(Identity(), norm=norm), 1, spec=one_tensor(20)).exchange([noise(20)])
    assert torch.allclose(out.mean, parameter.grad, rtol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_orthogonal_gradients_add_up_to_the_norm_at_most(size: int):
    xs = [100 * torch.eye(8)[rank] for rank in range(size)]
    out = World(Clipped(Identity(), norm=2.0), size, spec=one_tensor(8)).exchange(xs)
    assert float((out[0].mean * size).norm()) == pytest.approx(2.0)


def test_the_memory_sees_only_what_was_clipped():
    world = World(Clipped(ErrorFeedback(TopK(0.5)), norm=5.0), 1, "gather", one_tensor(2))
    (out,) = world.exchange([torch.tensor([30.0, 40.0])])
    assert out.mean.tolist() == pytest.approx([0, 4])
    assert world.states[0].residual.tolist() == pytest.approx([3, 0])


def test_small_tensors_that_travel_dense_are_clipped_too():
    assert Clipped(Momentum(TopK(0.1)), norm=2.0).lossless == Clipped(Momentum(Identity()), norm=2.0)


def test_inside_a_memory_it_is_refused():
    with pytest.raises(PlanError, match="promises no bound"):
        ErrorFeedback(Clipped(TopK(0.1)))


def test_squares_that_overflow_float32_are_clipped_too():
    (out,) = World(Clipped(Identity()), 1, spec=one_tensor(4)).exchange([torch.full((4,), 1e30)])
    assert out.mean.tolist() == pytest.approx([0.5] * 4)


@pytest.mark.parametrize("norm", [0.0, -1.0, math.inf, math.nan])
def test_a_norm_is_a_positive_number(norm: float):
    with pytest.raises(PlanError, match="above 0 and finite"):
        Clipped(TopK(0.1), norm=norm)

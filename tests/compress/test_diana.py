from __future__ import annotations

import pytest
import torch

from laconic.compress import QSGD, AbstractCompressor, Diana, Sign
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise


def test_the_shifts_by_hand():
    world = World(Diana(QSGD(2), rate=0.1), 2, "gather", one_tensor(2))
    xs = [torch.tensor([1.0, 1.0]), torch.tensor([-3.0, 3.0])]
    out = world.exchange(xs)
    assert out[0].mean.tolist() == [-1.0, 2.0]
    assert world.states[0].own.tolist() == pytest.approx([0.1, 0.1])
    assert world.states[0].mean.tolist() == world.states[1].mean.tolist() == pytest.approx([-0.1, 0.2])


def test_a_fixed_gradient_is_learned():
    world, x = World(Diana(QSGD(4)), 1, "gather", one_tensor(100)), noise(100)
    for step in range(60):
        world.exchange([x], step)
    assert float((world.states[0].own - x).norm() / x.norm()) < 1e-5


def _descend(compressor: AbstractCompressor, steps: int = 150, ranks: int = 4, n: int = 10) -> float:
    """Distance to the optimum of sum_i |A_i x - b_i|^2 / 2 with different A_i and b_i, full gradients."""
    a = [torch.diag(noise(n, 100 + r).abs() + 0.5) for r in range(ranks)]
    b = [5 * noise(n, 200 + r) for r in range(ranks)]
    hessian = sum(m.T @ m for m in a) / ranks
    optimum = torch.linalg.solve(hessian, sum(m.T @ v for m, v in zip(a, b, strict=True)) / ranks)
    step_size = 0.5 / float(torch.linalg.matrix_norm(hessian, 2))
    world, x = World(compressor, ranks, "gather", one_tensor(n)), torch.zeros(n)
    for step in range(steps):
        gradients = [m.T @ (m @ x - v) for m, v in zip(a, b, strict=True)]
        x = x - step_size * world.exchange(gradients, step)[0].mean
    return float((x - optimum).norm() / optimum.norm())


def test_the_noise_vanishes_where_that_of_the_quantizer_alone_does_not():
    assert _descend(Diana(QSGD(3))) < 1e-4
    assert _descend(QSGD(3)) > 1e-2


def test_ranks_hold_the_same_mean_shift_on_either_route():
    for route in ("gather", "deal"):
        world = World(Diana(), 4, route)
        for step in range(3):
            world.exchange(world.inputs(step), step)
        own = torch.stack([s.own for s in world.states]).mean(0)
        assert all(torch.equal(s.mean, world.states[0].mean) for s in world.states)
        assert torch.allclose(world.states[0].mean, own, atol=1e-6)


def test_a_rate_that_may_diverge_is_refused():
    with pytest.raises(PlanError, match="diverge above"):
        Diana(QSGD(2), rate=0.9)


def test_a_biased_compressor_is_refused():
    with pytest.raises(PlanError, match="must be unbiased"):
        Diana(Sign())

from __future__ import annotations

import torch

from laconic.compress import GMC, ErrorFeedback, Identity, Momentum, TopK
from laconic.core.bucket import one_tensor
from tests.laws.world import World
from tests.zoo import noise


def test_without_loss_it_is_momentum_sgd_on_the_mean():
    spec = one_tensor(50, torch.float64)
    world, m = World(GMC(Identity()), 3, spec=spec), torch.zeros(50, dtype=torch.float64)
    for step in range(20):
        xs = world.inputs(step)
        m = 0.9 * m + sum(xs) / 3
        out = world.exchange(xs, step)
        assert torch.allclose(out[0].mean, m, atol=1e-9)


def test_the_printed_form_with_the_learning_rate_is_the_same():
    """x - (beta/lr) (w_t - w_{t-1}), lr being that of the step that made the difference."""
    spec = one_tensor(30, torch.float64)
    world = World(GMC(TopK(0.2)), 1, "gather", spec)
    plain = World(ErrorFeedback(TopK(0.2)), 1, "gather", spec)
    w = before = torch.zeros(30, dtype=torch.float64)
    made_with = 1.0
    for step in range(12):
        lr = 0.5 if step < 6 else 0.05
        x = noise(30, step, torch.float64)
        u = x - 0.9 / made_with * (w - before)
        said = plain.exchange([u], step)[0].mean
        assert torch.allclose(world.exchange([x], step)[0].mean, said, atol=1e-6)
        before, w, made_with = w, w - lr * said, lr


def test_the_momentum_is_the_last_mean_and_equal_on_all_ranks():
    world = World(GMC(TopK(0.25)), 2, "gather", one_tensor(4))
    out = world.exchange([torch.tensor([4.0, 1, 0, 0]), torch.tensor([0, 0, 2.0, 1])])
    assert out[0].mean.tolist() == [2, 0, 1, 0]
    assert all(state.own.tolist() == [2, 0, 1, 0] for state in world.states)


def test_small_tensors_keep_their_momentum_and_the_optimizer_has_none():
    assert GMC(TopK(0.1), beta=0.5).lossless == GMC(Identity(), beta=0.5)
    assert GMC(TopK(0.1)).owns_momentum
    assert GMC(TopK(0.1)) != Momentum(TopK(0.1))

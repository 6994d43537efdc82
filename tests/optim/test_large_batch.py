"""Large batches: factors are exact, steps as long as promised."""

from __future__ import annotations

import math
from itertools import islice, pairwise

import pytest
import torch

from laconic.core.errors import UsageError
from laconic.optim import LAMB, LARS, Growth, Legw, gradual, linear, sqrt


def test_factors_are_exact():
    assert linear(8) == 8
    assert sqrt(16) == 4
    with pytest.raises(UsageError, match="above 0"):
        linear(0)


def test_k_steps_on_a_linear_loss_are_one_step_at_k_times_the_rate():
    def end(rate: float, steps: int) -> float:
        p = torch.nn.Parameter(torch.tensor(1.0))
        optimizer = torch.optim.SGD([p], lr=rate)
        for _ in range(steps):
            optimizer.zero_grad()
            (3 * p).backward()
            optimizer.step()
        return float(p.detach())

    assert end(0.01, 4) == pytest.approx(end(0.01 * linear(4), 1))


def test_a_gradual_warm_up_is_linear_between_its_ends():
    factor = gradual(8.0, 10)
    assert factor(0) == 1
    assert factor(10) == factor(99) == 8
    steps = [b - a for a, b in pairwise(factor(t) for t in range(11))]
    assert all(s == pytest.approx(0.7) for s in steps)


def test_legw_keeps_the_number_of_warm_up_steps():
    legw = Legw(batch=32, warmup_epochs=2)
    assert legw.factor(32) == 1
    assert legw.factor(128) == 2
    assert legw.epochs(128) == 8
    assert legw.steps(32, 3200) == legw.steps(128, 3200) == legw.steps(512, 3200) == 200
    rise = legw.schedule(128, 3200)
    assert 0 < rise(0) < rise(100) < rise(200) == 2


def test_batches_grow_to_their_limit_and_save_rounds():
    growth = Growth(100, 1.1, most=1000)
    sizes = list(islice(growth, 40))
    assert sizes[:4] == [100, 110, 121, 134]
    assert sizes[-1] == 1000
    assert all(a <= b for a, b in pairwise(sizes))
    assert growth.rounds(sum(sizes)) == 40
    assert growth.rounds(10**5) < Growth(100, 1.0, most=1000).rounds(10**5) == 1000
    with pytest.raises(UsageError, match="at most the last"):
        Growth(10, most=5)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_lars_step_is_as_long_as_the_weights_want(scale: float):
    p = torch.nn.Parameter(torch.randn(5, 4, generator=torch.Generator().manual_seed(0)))
    start, optimizer = p.detach().clone(), LARS([p], lr=0.1, momentum=0, weight_decay=0, trust=0.01)
    p.grad = scale * torch.randn(5, 4, generator=torch.Generator().manual_seed(1))
    optimizer.step()
    assert float((p.detach() - start).norm()) == pytest.approx(0.1 * 0.01 * float(start.norm()), rel=1e-4)


def test_lars_leaves_vectors_and_zeros_to_sgd():
    bias, zero = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.zeros(2, 2))
    optimizer = LARS([bias, zero], lr=0.5, momentum=0)
    bias.grad, zero.grad = torch.full((3,), 2.0), torch.ones(2, 2)
    optimizer.step()
    assert torch.equal(bias.detach(), torch.zeros(3))
    assert torch.equal(zero.detach(), torch.full((2, 2), -0.5))


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e2])
def test_a_lamb_step_does_not_know_the_scale_of_gradients(scale: float):
    p = torch.nn.Parameter(torch.randn(5, 4, generator=torch.Generator().manual_seed(0)))
    start, optimizer = p.detach().clone(), LAMB([p], lr=0.1, weight_decay=0, eps=1e-12)
    p.grad = scale * torch.randn(5, 4, generator=torch.Generator().manual_seed(1))
    optimizer.step()
    assert float((p.detach() - start).norm()) == pytest.approx(0.1 * min(10, float(start.norm())), rel=1e-4)
    step = (p.detach() - start) / -0.1
    assert torch.allclose(step.sign(), p.grad.sign())


def test_both_bring_a_small_problem_down():
    for make in (lambda ps: LARS(ps, lr=1.0, trust=0.1), lambda ps: LAMB(ps, lr=0.05)):
        torch.manual_seed(0)
        model = torch.nn.Linear(10, 1)
        x = torch.randn(64, 10)
        y = x.sum(1, keepdim=True)
        optimizer = make(model.parameters())
        losses = []
        for _ in range(60):
            loss = (model(x) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        assert math.isfinite(losses[-1])
        assert losses[-1] < 0.2 * losses[0]
    restored = LAMB(model.parameters())
    restored.load_state_dict(optimizer.state_dict())

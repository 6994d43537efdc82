"""`.grad` is a view of the mean: whatever users do to it must not reach what is kept."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import laconic
from laconic.core import state


@pytest.mark.parametrize("plan", ["none", "ef(topk(0.1))", "ef21(topk(0.1))", "diana(qsgd(4))", "ef(powersgd(2))"])
def test_clipping_gradients_does_not_change_what_is_remembered(plan: str):
    torch.manual_seed(0)
    model = nn.Linear(64, 64)
    replica = laconic.distribute(model, torch.optim.SGD(model.parameters(), lr=0.1), plan)
    model(torch.randn(4, 64)).square().sum().backward()
    before = [state.to_dict(s) for s in replica.state]
    nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
    after = [state.to_dict(s) for s in replica.state]
    assert all(torch.equal(a[k], b[k]) for a, b in zip(before, after, strict=True) for k in a)
    replica.close()


def test_a_gradient_that_somebody_keeps_survives_the_next_step():
    torch.manual_seed(0)
    model = nn.Linear(2048, 2048)  # large enough for memory that is used again
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    replica = laconic.distribute(model, optimizer, "none")
    kept = []
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(4, 2048)).square().mean().backward()
        grad = model.weight.grad
        assert grad is not None
        kept.append((grad, grad.clone()))
        optimizer.step()
    assert all(torch.equal(grad, copy) for grad, copy in kept)
    replica.close()


def test_gradients_zeroed_in_place_give_the_same_steps():
    ends = []
    for set_to_none in (True, False):
        torch.manual_seed(0)
        model = nn.Linear(64, 64)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        replica = laconic.distribute(model, optimizer, "ef(topk(0.1))")
        for _ in range(4):
            optimizer.zero_grad(set_to_none=set_to_none)
            model(torch.randn(4, 64)).square().mean().backward()
            optimizer.step()
        ends.append(model.weight.detach().clone())
        replica.close()
    assert torch.equal(*ends)


@pytest.mark.filterwarnings("ignore:Using backward")  # torch warns of cycles between gradients and parameters
@pytest.mark.parametrize("plan", ["none", "fp16", "ef(topk(0.1))"])
def test_gradients_that_have_a_history_are_exchanged_without_it(plan: str):
    model = nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    replica = laconic.distribute(model, optimizer, plan)
    model(torch.randn(4, 64)).square().mean().backward(create_graph=True)
    assert all(p.grad is not None and not p.grad.requires_grad for p in model.parameters())
    optimizer.step()
    assert replica.stats.steps == 1
    replica.close()

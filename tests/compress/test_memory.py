"""Who owns momentum or follows the learning rate is seen through wrappers; the optimizer is asked to agree."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import laconic
from laconic.compress import ByShape, ByTensor, Clipped, DistEF, Filtered, Sign, TopK
from laconic.core.errors import PlanError, UsageError
from laconic.distribute import distribute
from tests.replica.loops import batches, flat


@pytest.mark.parametrize("wrap", [ByTensor, Clipped, ByShape, lambda c: Filtered(c, deny="x")])
def test_wrappers_pass_on_what_stands_inside(wrap: object):
    inside = wrap(DistEF(Sign()))  # type: ignore[operator]
    assert inside.owns_momentum
    assert inside.follows_lr
    assert not wrap(TopK(0.1)).owns_momentum  # type: ignore[operator]


def wide() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(40, 60), nn.ReLU(), nn.Linear(60, 3))


@pytest.mark.parametrize("make", [lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), torch.optim.Adam])
def test_a_second_momentum_is_refused(make: object):
    model = wide()
    with pytest.raises(UsageError, match="it would count twice"):
        distribute(model, make(model.parameters()), "momentum(topk(0.1))")  # type: ignore[operator]


def test_local_sgd_may_have_momentum_in_its_optimizer():
    model = wide()
    distribute(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), "local(4) / momentum(topk(0.1))")


def test_a_plan_that_follows_the_rate_needs_one():
    model = wide()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    del optimizer.param_groups[0]["lr"]
    with pytest.raises(UsageError, match="follows the learning rate"):
        distribute(model, optimizer, "dist_ef(sign, beta=0)")


def test_a_ddp_hook_cannot_follow_the_rate():
    with pytest.raises(PlanError, match="cannot see the learning rate"):
        laconic.ddp_hook("dist_ef(sign)")


@pytest.mark.parametrize("plan", ["ef(lags)", "ef(filtered(topk(0.1), deny=bias))"])
def test_a_ddp_hook_knows_no_names_and_no_next_bucket(plan: str):
    with pytest.raises(PlanError, match="knows no names"):
        laconic.ddp_hook(plan)


def test_buckets_hold_one_parameter_group_where_rates_matter():
    model = wide()
    groups = [{"params": [model[0].weight], "lr": 0.1}, {"params": [model[2].weight, model[0].bias, model[2].bias]}]
    optimizer = torch.optim.SGD(groups, lr=0.2)
    replica = distribute(model, optimizer, "dist_ef(sign, beta=0)")
    rates = {name: replica.lr(b) for b in replica.buckets for name in b.spec.names}  # type: ignore[union-attr]
    assert rates == {"0.weight": 0.1, "2.weight": 0.2, "0.bias": 0.2, "2.bias": 0.2}


@pytest.mark.parametrize("plan", ["momentum(none)", "gmc(none)", "momentum(topk(1), masking=never)"])
def test_without_loss_a_model_trains_as_with_the_optimizers_own_momentum(plan: str):
    """Big tensors, small ones and all: bit patterns aside, the same parameters after ten steps."""

    def train(plan: str, momentum: float) -> torch.Tensor:
        model = nn.Sequential(nn.Linear(20, 60), nn.ReLU(), nn.Linear(60, 3))
        model.load_state_dict(start)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=momentum)
        distribute(model, optimizer, plan)
        for x, y in batches(0, 10):
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
        return flat(model)

    torch.manual_seed(3)
    start = nn.Sequential(nn.Linear(20, 60), nn.ReLU(), nn.Linear(60, 3)).state_dict()
    assert torch.allclose(train(plan, 0.0), train("none", 0.9), atol=1e-5)
    assert not torch.allclose(train("none", 0.0), train("none", 0.9), atol=1e-2)

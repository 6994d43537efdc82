"""Real trainings with virtual workers: looking at them changes nothing, and what they cannot do is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from laconic.core.errors import PlanError
from laconic.plan import Plan
from laconic.sim.train import mean_of, virtual
from tests.drive.test_virtual import job


@pytest.mark.parametrize("plan", ["local(4)", "gossip(ring)", "ef(topk(0.5))", "diloco(4)"])
def test_looking_often_sends_nothing_and_changes_nothing(plan: str) -> None:
    often, rarely = (virtual(Plan.parse(plan), job(), 3, 12, every, 1.0).seen for every in (1, 12))
    assert often[-1] == rarely[-1]
    assert [s.step for s in often] == list(range(1, 13))


def test_local_talks_only_when_it_is_due() -> None:
    sent = [s.sent_bytes for s in virtual(Plan.parse("local(4)"), job(), 3, 8, 1, 1.0).seen]
    assert sent[:3] == [0.0] * 3
    assert 0 < sent[3] == sent[4] == sent[6] < sent[7]


def test_the_mean_of_equal_models_is_that_model() -> None:
    one = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    mean = mean_of([one] * 7)
    assert all(torch.equal(a, b) for a, b in zip(mean.state_dict().values(), one.state_dict().values(), strict=True))
    assert mean is not one


def test_a_plan_that_follows_the_loss_is_told_it() -> None:
    seen = virtual(Plan.parse("adacomm(4)"), job(), 2, 8, 4, 1.0).seen
    assert seen[-1].metrics["loss"] < seen[0].metrics["loss"]


def test_what_a_plan_changed_on_the_way_is_told() -> None:
    def make() -> tuple[nn.Module, torch.optim.Optimizer]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            net = nn.Sequential(nn.Linear(4, 400), nn.Linear(400, 1))
        return net, torch.optim.SGD(net.parameters(), lr=1e-4)

    plan = Plan.parse("ef(accordion(topk(0.9), topk(0.2), window=2)) / wfbp")
    told = virtual(plan, replace(job(), make=make), 2, 8, 8, 1.0).decisions
    assert told[0].startswith("exchange 4, bucket ")
    assert "('0.weight'): topk(0.9) -> topk(0.2); the sum of 2 means has norm" in told[0]


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        ("silent", "never talk"),
        ("asp / ps", "do not wait"),
        ("ssp(2) / ps", "do not wait"),
        ("downpour / ps", "do not wait"),
        ("backup(1) / ps", "do not wait"),
        ("asp / gossip(ring, adpsgd)", "meet beside"),
        ("ef(paced(topk(0.1)))", "how long exchanges take"),
    ],
)
def test_what_virtual_workers_cannot_do_is_refused(plan: str, sentence: str) -> None:
    with pytest.raises(PlanError, match=sentence):
        virtual(Plan.parse(plan), job(), 4, 2, 1, 1.0)

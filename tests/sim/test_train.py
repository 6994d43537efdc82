"""Real trainings with virtual workers: looking at them changes nothing, and what they cannot do is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from laconic.compress import Identity
from laconic.core.errors import PlanError
from laconic.plan import Plan
from laconic.sim.train import mean_of, virtual
from laconic.sync import BSP, Local
from tests.drive.test_virtual import job, second


@pytest.mark.parametrize("plan", ["local(4)", "gossip(ring)", "ef(topk(0.5))", "diloco(4)"])
def test_looking_often_sends_nothing_and_changes_nothing(plan: str) -> None:
    often, rarely = (virtual(Plan.parse(plan), job(), 3, 12, every, second).seen for every in (1, 12))
    assert often[-1] == rarely[-1]
    assert [s.step for s in often] == list(range(1, 13))


def test_local_talks_only_when_it_is_due() -> None:
    sent = [s.sent_bytes for s in virtual(Plan.parse("local(4)"), job(), 3, 8, 1, second).seen]
    assert sent[:3] == [0.0] * 3
    assert 0 < sent[3] == sent[4] == sent[6] < sent[7]


def test_the_mean_of_equal_models_is_that_model() -> None:
    one = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    mean = mean_of([one] * 7)
    assert all(torch.equal(a, b) for a, b in zip(mean.state_dict().values(), one.state_dict().values(), strict=True))
    assert mean is not one


def test_a_plan_that_follows_the_loss_is_told_it() -> None:
    seen = virtual(Plan.parse("adacomm(4)"), job(), 2, 8, 4, second).seen
    assert seen[-1].metrics["loss"] < seen[0].metrics["loss"]


def test_what_a_plan_changed_on_the_way_is_told() -> None:
    def make() -> tuple[nn.Module, torch.optim.Optimizer]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            net = nn.Sequential(nn.Linear(4, 400), nn.Linear(400, 1))
        return net, torch.optim.SGD(net.parameters(), lr=1e-4)

    plan = Plan.parse("ef(accordion(topk(0.9), topk(0.2), window=2)) / wfbp")
    told = virtual(plan, replace(job(), make=make), 2, 8, 8, second).decisions
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
        virtual(Plan.parse(plan), job(), 4, 2, 1, second)


def total(text: str, steps: int, talking: float = 10.0) -> float:
    """A step costs a second, and `talking` each time it talks; post_local and adacomm are no such plans."""

    def price(now: Plan) -> float:
        assert isinstance(now.sync, BSP | Local)
        return 1.0 + talking / getattr(now.sync, "h", 1)

    return virtual(Plan.parse(text), job(), 2, steps, steps, price).seen[-1].seconds


def test_post_local_pays_for_every_step_until_it_is_local() -> None:
    assert total("post_local(8, h=4)", 8) == pytest.approx(8 * 11)
    assert total("post_local(8, h=4)", 16) == pytest.approx(8 * 11 + 8 + 2 * 10)


def test_who_talks_more_often_as_the_loss_falls_pays_for_it() -> None:
    """Losses of this job fall from the first round on: four rounds of 4 steps, then of at most 2."""
    assert total("adacomm(4)", 16) == pytest.approx(16 + 4 * 10)
    assert total("adacomm(4)", 24) >= 24 + (4 + 4) * 10


def test_phases_are_priced_as_who_is_at_work() -> None:
    plan = Plan.parse("allreduce(route=gather) / ef(dense_first(topk(0.5), steps=3))")
    trained = virtual(plan, job(), 2, 6, 6, lambda now: 1.0 if now.compress == Identity() else 0.25)
    assert trained.seen[-1].seconds == pytest.approx(3 + 3 * 0.25)
    assert [(p.from_step, str(p.plan.compress)) for p in trained.phases] == [(1, "none"), (4, "ef(topk(0.5))")]


def test_a_warm_up_is_priced_stage_by_stage() -> None:
    trained = virtual(Plan.parse("ef(warmup(topk(0.01), steps=4, stages=2))"), job(), 2, 6, 6, second)
    stages = [(p.from_step, str(p.plan.compress)) for p in trained.phases]
    assert stages[0][1].startswith("ef(topk(0.2154")
    assert [s for s, _ in stages] == [1, 3, 5]
    assert stages[-1][1] == "ef(topk(0.01))"

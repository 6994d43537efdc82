"""Decisions about when to talk are pure functions: of steps, losses and norms."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import laconic
from laconic.core.errors import PlanError
from laconic.outer import BMUF, Add, Nesterov, Round, SlowMo
from laconic.plan import Plan
from laconic.sync import (
    BSP,
    CMFL,
    LAG,
    LASG,
    AdaComm,
    Backup,
    Blocks,
    CoCoD,
    DiLoCo,
    Local,
    Lupa,
    PostLocal,
    Silent,
    Subject,
)
from laconic.sync.cmfl import next_threshold, relevance
from laconic.sync.lazy import Seen
from tests.replica.loops import mlp


def test_bsp_talks_about_gradients_in_every_step():
    assert all(BSP().talks(step) for step in range(1, 10))
    assert BSP.subject is Subject.GRADIENT


def test_local_talks_about_the_way_gone_every_h_steps():
    assert [step for step in range(1, 13) if Local(4).talks(step)] == [4, 8, 12]
    assert Local.subject is Subject.DELTA


def test_local_of_one_talks_always():
    assert all(Local(1).talks(step) for step in range(1, 5))


def test_silent_never_talks():
    assert not any(Silent().talks(step) for step in range(1, 100))
    assert Silent.subject is Subject.NOTHING


@pytest.mark.parametrize("h", [0, -1, 2.5, "8"])
def test_a_number_of_steps_that_is_none_is_refused(h: object):
    with pytest.raises(PlanError, match="a whole number from 1 up"):
        Local(h)  # type: ignore[arg-type]


def test_post_local_changes_its_subject():
    sync = PostLocal(3, h=2)
    assert [sync.subject_at(t) for t in (1, 3, 4)] == [Subject.GRADIENT, Subject.GRADIENT, Subject.DELTA]
    assert [t for t in range(1, 10) if sync.talks(t)] == [1, 2, 3, 5, 7, 9]


@given(st.integers(1, 8), st.integers(1, 8))
def test_every_fragment_has_one_round_in_h_steps(fragments: int, every: int):
    h = fragments * every
    sync = DiLoCo(h, fragments=fragments)
    started = [sync.starts(t) for t in range(1, h + 1)]
    assert sorted(p for p in started if p is not None) == list(range(fragments))
    assert [sync.starts(t) for t in range(h + 1, 2 * h + 1)] == started


def test_fragments_that_would_meet_are_refused():
    with pytest.raises(PlanError, match="overlap is at most that"):
        DiLoCo(8, fragments=4, overlap=2)
    with pytest.raises(PlanError, match="cannot be shared evenly"):
        DiLoCo(10, fragments=4)


def test_cocod_keeps_what_was_done_meanwhile():
    now, then, agreed = torch.tensor([5.0]), torch.tensor([3.0]), torch.tensor([10.0])
    assert CoCoD(4).go_on(now, then, agreed) == 12.0
    assert DiLoCo(4, keep=0.5).go_on(now, then, agreed) == 7.5


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20), st.integers(1, 64), st.integers(1, 4))
def test_adacomm_shrinks_and_stays_within_bounds(losses: list[float], h: int, every: int):
    sync, period = AdaComm(h, every), h
    for i, loss in enumerate(losses, 1):
        new = sync.period(period, 2.0, loss, 1.0, i)
        assert 1 <= new <= period or i % every
        assert new == period or i % every == 0
        period = new


def test_adacomm_follows_the_root_of_the_loss_and_the_learning_rate():
    assert AdaComm(16, 1).period(16, 1.0, 0.25, 1.0, 1) == 8
    assert AdaComm(16, 1).period(8, 1.0, 0.25, 1.0, 2) == 4  # not smaller: halved
    assert AdaComm(16, 1).period(8, 1.0, 0.25, 0.25, 2) == 16  # a smaller rate allows rarer rounds


@given(st.floats(0, 1e6), st.floats(1e-6, 10), st.integers(1, 64), st.integers(1, 500))
def test_adacomm_keeps_its_promise_when_the_learning_rate_falls(loss: float, share: float, h: int, now: int):
    period = AdaComm(h, 1).period(now, 2.0, loss, share, 1)
    assert (
        1 <= period <= math.ceil(h * max(1.0, 1 / share))
    )  # "at most h steps, times first learning rate / learning rate"


def test_backup_workers_are_fewer_than_workers():
    Backup(1).fit(1)  # alone there is nobody to wait for
    Backup(3).fit(4)
    with pytest.raises(PlanError, match="of 4 workers one must be waited for, so b is at most 3"):
        Backup(4).fit(4)
    with pytest.raises(PlanError, match="Leave grace out"):
        Backup(0, grace=1.0)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20))
def test_lupa_never_talks_more_often_than_before(losses: list[float]):
    sync, period = Lupa(4, most=64), 4
    for loss in losses:
        new = sync.period(period, 2.0, loss, 1.0, 1)
        assert period <= new <= 64
        period = new


def test_adaptive_plans_talk_by_their_first_period_until_there_is_a_loss():
    assert [t for t in range(1, 9) if Lupa(4).talks(t)] == [4, 8]


def test_lupa_follows_the_third_root():
    assert Lupa(4).period(4, 8.0, 1.0, 1.0, 1) == 8


def test_lag_is_silent_where_little_has_changed():
    past = (1.0,) * 10
    assert not LAG(0.1).speaks(Seen(0.9, 0.0, past, 0))
    assert LAG(0.1).speaks(Seen(1.1, 0.0, past, 0))
    assert LAG(0.1).speaks(Seen(0.9, 0.0, past[:9], 0)), "all upload while there is no past"
    assert LAG(0.1, patience=5).speaks(Seen(0.0, 0.0, past, 4))
    assert LAG(0.0).speaks(Seen(1e-30, 0.0, past, 0))


def test_lasg_looks_at_the_model_and_not_at_gradients():
    past = (1.0,) * 10
    assert not LASG(2.0).speaks(Seen(1e9, 0.2, past, 0))
    assert LASG(2.0).speaks(Seen(0.0, 0.3, past, 0))
    assert LASG(2.0, xi=0).speaks(Seen(0.0, 0.0, past, 0))


def test_relevance_is_the_share_of_signs_that_agree():
    last = torch.tensor([1.0, -1.0, 1.0, 0.0])
    assert relevance(last, last) == 1.0
    assert relevance(-last, last) == 0.25
    assert relevance(last, torch.zeros(4)) == 1.0, "nothing is known yet: all are relevant"
    assert next_threshold(0.8, 0.5, spoke=2) == 0.8
    assert next_threshold(0.8, 0.8, spoke=0) < 0.8


def test_blocks_take_turns():
    assert [Blocks(3).block(turn) for turn in range(5)] == [0, 1, 2, 0, 1]


NOW = Round(lr=0.1, world=4)
WAY = torch.tensor([1.0, -2.0])
START = torch.tensor([10.0, 10.0])


def test_nesterov_is_that_of_torch():
    outer, p = Nesterov(0.7, 0.9), torch.nn.Parameter(START.clone())
    theirs = torch.optim.SGD([p], lr=0.7, momentum=0.9, nesterov=True)
    anchor, memory = START, outer.init(START)
    for scale in (1.0, 0.5, -0.2):
        p.grad = WAY * scale
        theirs.step()
        anchor, memory = outer.step(anchor, WAY * scale, memory, NOW)
    assert torch.allclose(anchor, p.detach(), atol=1e-6)


@pytest.mark.parametrize(
    "outer", [Nesterov(1.0, 0.0), SlowMo(0.0), BMUF(momentum=0.0), BMUF(momentum=0, start="nesterov")]
)
def test_without_momentum_every_outer_optimizer_adds(outer: Nesterov | SlowMo | BMUF):
    new, _ = outer.step(START, WAY, outer.init(START), NOW)
    assert torch.allclose(new, Add().step(START, WAY, (), NOW)[0], atol=1e-6)


def test_slowmo_counts_in_units_of_the_learning_rate():
    outer = SlowMo(0.5)
    anchor, memory = outer.step(START, WAY, outer.init(START), NOW)
    anchor, memory = outer.step(anchor, torch.zeros(2), memory, Round(0.2, 4))
    assert torch.allclose(anchor, START - WAY - 0.2 * 0.5 * WAY / 0.1)


def test_bmuf_has_momentum_by_the_number_of_workers():
    outer = BMUF()
    anchor, memory = outer.step(START, WAY, outer.init(START), NOW)
    anchor, _ = outer.step(anchor, torch.zeros(2), memory, NOW)
    assert torch.allclose(anchor, START - WAY - 0.75 * WAY)
    alone, memory = outer.step(START, WAY, outer.init(START), Round(0.1, 1))
    assert torch.equal(outer.step(alone, torch.zeros(2), memory, Round(0.1, 1))[0], alone)


@pytest.mark.parametrize(
    "text",
    [
        "local(8, outer=nesterov(0.7))",
        "local(8, outer=bmuf(1, momentum=0.5, start=nesterov))",
        "diloco(100, outer=slowmo(0.5, lr=0.9), fragments=2, overlap=3, keep=0.5)",
        "post_local(50, h=4, outer=slowmo(0.5))",
        "lag(0.05, window=5)",
        "cmfl(4, relevance=0.7)",
        "blocks(2, l1=0.01)",
    ],
)
def test_texts_come_back(text: str):
    plan = Plan.parse(text)
    assert Plan.parse(str(plan)) == plan
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("slowmo", "an outer optimizer inside local\\(...\\)"),
        ("local(4, outer=nesterov(momentum=1))", "below 1"),
        ("lag / ef(topk(0.1))", "remembers what was not sent"),
        ("cmfl / powersgd(2)", "workers speak one by one"),
        ("gossip(ring) / diloco(4)", "not diloco"),
        ("gossip(ring) / local(4, outer=slowmo)", "mixes models after every step"),
        ("lag(0.2)", "add up to at most 1"),
        ("lupa(8, most=4)", "not below the first"),
    ],
)
def test_what_cannot_work_is_refused(text: str, problem: str):
    with pytest.raises(PlanError, match=problem):
        Plan.parse(text)


def test_lupa_does_not_choke_on_a_loss_of_zero():
    assert Lupa(4, most=64).period(4, 1.0, 0.0, 1.0, 1) == 64
    assert Lupa(4).period(4, 1.0, math.nan, 1.0, 1) == 4
    assert CMFL(4).talks(4)


def test_more_blocks_than_buckets_are_refused():
    model = mlp(0, norm=False)
    with pytest.raises(PlanError, match=r"blocks.9.* wants at least 9 buckets, and this model has 1"):
        laconic.distribute(model, torch.optim.SGD(model.parameters(), lr=0.1), "blocks(9)")

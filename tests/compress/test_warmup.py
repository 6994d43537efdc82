from __future__ import annotations

import pytest
import torch

from laconic.compress import QSGD, ErrorFeedback, RandomK, TopK, Warmup
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.plan import Plan
from tests.laws.world import World


def ratios(plan: Warmup, steps: int) -> list[float]:
    return [plan.at(step).ratio for step in range(steps)]  # type: ignore[attr-defined]


def test_the_published_list():
    got = ratios(Warmup(TopK(0.001), steps=4, stages=4), 5)
    assert got == pytest.approx([0.25, 0.0625, 0.015625, 0.004, 0.001], rel=0.03)


def test_it_only_falls_and_ends_exactly_at_the_ratio():
    got = ratios(Warmup(TopK(0.01), steps=100, stages=7), 120)
    assert got == sorted(got, reverse=True)
    assert len(set(got)) == 8
    assert got[100:] == [0.01] * 20


def test_the_number_of_elements_follows_for_every_bucket():
    for numel in (40, 1000):
        world = World(ErrorFeedback(Warmup(TopK(0.01), steps=2, stages=1)), 1, "gather", one_tensor(numel))
        kept = [int(world.exchange(world.inputs(s), s)[0].mean.count_nonzero()) for s in range(3)]
        assert kept == [numel // 10, numel // 10, max(1, numel // 100)]


def test_it_may_stand_inside_or_around_a_memory():
    inside, around = ErrorFeedback(Warmup(TopK(0.05), steps=4)), Warmup(ErrorFeedback(TopK(0.05)), steps=4)
    a, b = World(inside, 2, "gather"), World(around, 2, "gather")
    for step in range(6):
        assert torch.equal(a.exchange(a.inputs(step), step)[0].mean, b.exchange(b.inputs(step), step)[0].mean)


def test_the_first_of_a_chain_is_warmed_up():
    plan = Warmup(TopK(0.01) | QSGD(4), steps=10, stages=1)
    assert plan.at(0) == TopK(0.1) | QSGD(4)
    assert Warmup(RandomK(0.01), steps=10, stages=1).at(0) == RandomK(0.1)


def test_the_text_of_the_issue_reads():
    assert Plan.parse("ef(warmup(topk(0.001), steps=200))").compress == ErrorFeedback(Warmup(TopK(0.001), steps=200))


def test_what_has_no_ratio_is_refused_with_another_way():
    with pytest.raises(PlanError, match=r"Use dense_first\(qsgd\(4\), steps=200\)"):
        Warmup(QSGD(4))


@pytest.mark.parametrize("bad", [{"steps": 0}, {"steps": 3, "stages": 4}, {"stages": 0}])
def test_numbers_out_of_range_are_refused(bad: dict[str, int]):
    with pytest.raises(PlanError, match="warmup"):
        Warmup(TopK(0.1), **bad)

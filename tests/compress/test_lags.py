from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from laconic.buckets import cut
from laconic.compress import LAGS, TopK
from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.errors import PlanError
from laconic.schedule import Wfbp
from tests.laws.world import World

SIZES = [400_000, 100_000, 900_000, 300_000, 50_000]  # in the order in which gradients become final


def specs() -> list[BucketSpec]:
    return [replace(one_tensor(n), followed_by=after) for n, after in zip(SIZES, [*SIZES[1:], 0], strict=True)]


def exposed_s(plan: LAGS, world: int) -> float:
    """How long the link is busy after the backward pass, one bucket after the other."""
    ready = free = 0.0
    for spec in specs():
        ready += 1e-9 * plan.backward_ns * spec.numel
        said = 64 * (world - 1) * plan.at(spec, world).ratio * spec.numel
        free = max(free, ready) + 1e-6 * plan.latency_us + said / (1e9 * plan.gbits)
    return free - ready


@pytest.mark.parametrize("world", [2, 4, 8])
def test_only_the_last_bucket_is_exposed_where_that_is_feasible(world: int):
    plan = LAGS(low=1e-6, high=0.2, gbits=1.0, backward_ns=20.0, latency_us=10.0)
    last = 1e-6 * 10 + 64 * (world - 1) * 1e-6 * SIZES[-1] / 1e9
    assert exposed_s(plan, world) == pytest.approx(last)


def test_the_ratio_is_the_largest_that_is_hidden_by_hand():
    # 1 ms of backward hides 1e6 bits: 15625 of 100,000 elements at 64 bits.
    spec = replace(one_tensor(100_000), followed_by=1_000_000)
    plan = LAGS(low=0.001, high=0.5, gbits=1.0, backward_ns=1.0, latency_us=0.0)
    assert plan.at(spec, 2) == TopK(0.15625)
    assert plan.at(spec, 3) == TopK(0.15625 / 2)
    assert plan.at(spec, 1000) == TopK(0.001)
    assert replace(plan, gbits=10.0).at(spec, 2) == TopK(0.5)


def test_with_one_ratio_it_is_top_k():
    ours, theirs = World(LAGS(0.1, high=0.1), 3, "gather"), World(TopK(0.1), 3, "gather")
    a, b = ours.exchange(ours.inputs()), theirs.exchange(theirs.inputs())
    assert torch.equal(a[0].mean, b[0].mean)


def test_a_bucket_knows_what_comes_next():
    model = nn.Sequential(nn.Linear(40, 50, bias=False), nn.Linear(50, 60, bias=False))
    named = dict(model.named_parameters())
    buckets = cut(named, Wfbp(), LAGS(), 2, {})
    assert [(b.spec.names, b.spec.followed_by) for b in buckets] == [(("1.weight",), 2000), (("0.weight",), 0)]


@pytest.mark.parametrize("bad", [{"low": 0.0}, {"low": 0.5}, {"gbits": 0.0}, {"backward_ns": -1.0}])
def test_numbers_out_of_range_are_refused(bad: dict[str, float]):
    with pytest.raises(PlanError, match="lags"):
        LAGS(**bad)

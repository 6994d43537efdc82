from __future__ import annotations

import pytest
import torch

from laconic.compress import DQSGD, QSGD
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.net.link import all_reduce_bytes
from tests.laws.world import World
from tests.zoo import noise


def test_the_schedule_by_hand():
    plan = DQSGD(total=10, scale=1.0, alpha=0.25)
    assert plan.bits_at(10, 7.0) == 4  # 1 + log2(8)
    assert plan.bits_at(8, 28.0) == 4  # a quarter of it, two steps earlier
    assert plan.bits_at(10, 1e9) == 8
    assert plan.bits_at(0, 1.0) == 2
    assert plan.bits_at(99, 7.0) == 4  # it stays at its end


def test_larger_and_later_never_take_fewer_bits():
    plan = DQSGD(total=100, alpha=0.9)
    by_norm = [plan.bits_at(50, 1.5**k) for k in range(40)]
    by_step = [plan.bits_at(step, 30.0) for step in range(120)]
    assert by_norm == sorted(by_norm)
    assert by_step == sorted(by_step)
    assert len(set(by_norm)) > 3


def test_all_ranks_take_the_bits_of_the_largest_gradient():
    plan, spec = DQSGD(total=1), one_tensor(256)
    xs = [noise(256), noise(256, 1) * 0.01]
    bits = plan.bits_at(1, float(xs[0].norm()))
    a = World(plan, 2, "gather", spec).exchange(xs, 1)
    b = World(QSGD(bits), 2, "gather", spec).exchange(xs, 1)
    assert torch.equal(a[0].mean, b[0].mean)


def test_the_bytes_are_those_of_each_steps_bits():
    plan, spec = DQSGD(total=40, alpha=0.8), one_tensor(256)
    world, want = World(plan, 2, "gather", spec), 0
    for step in range(0, 40, 5):
        xs = [noise(256, step), noise(256, step + 1)]
        bits = plan.bits_at(step, max(float(x.norm()) for x in xs))
        want += all_reduce_bytes(4, 2) + 24 + QSGD(bits).payload_bits(spec) // 8
        world.exchange(xs, step)
    assert world.links[0].sent_bytes == want


@pytest.mark.parametrize("bad", [{"total": 0}, {"scale": 0.0}, {"alpha": 1.0}, {"low": 5, "high": 4}, {"high": 9}])
def test_settings_that_cannot_work_are_refused(bad: dict[str, float]):
    with pytest.raises(PlanError, match="dqsgd"):
        DQSGD(**bad)

"""What is worked out from measured steps is kept only if it is not slower; all ranks change at the same step."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy

import laconic
from laconic import pricing
from laconic.buckets import Bucket
from laconic.core.clock import ManualClock
from laconic.core.errors import UsageError
from laconic.drive.lanes import Lanes
from laconic.pilot import RECHECK, WARM, WATCH, Pilot, Setting
from laconic.replica import Replica
from laconic.schedule import priority
from laconic.schedule.halving import ROUNDS, WINDOW
from tests.processes import results
from tests.replica.loops import batches, mlp, sgd

TRIAL = 2 * ROUNDS * (WINDOW + 1)


class Watched:
    """A run whose clock we turn: `seconds(replica)` is what a step of its present setting takes."""

    def __init__(self, plan: str, rank: int = 0) -> None:
        self.model = mlp(rank, norm=False)
        self.optimizer = sgd(self.model)
        replica = laconic.distribute(self.model, self.optimizer, plan)
        assert isinstance(replica, Replica)
        self.replica, self.clock = replica, ManualClock()
        if replica.pilot is not None:
            replica.pilot.close()
        self.replica.crossing = None
        self.pilot = replica.pilot = Pilot(replica, self.model, self.clock)
        self.data = batches(rank, 1, size=4)[0]

    def run(self, steps: int, seconds: Any) -> None:
        x, y = self.data
        for _ in range(steps):
            cross_entropy(self.model(x), y).backward()
            self.clock.advance(seconds(self.replica))
            self.optimizer.step()
            self.optimizer.zero_grad()


def _names(buckets: list[Bucket]) -> list[tuple[str, ...]]:
    return [b.spec.names for b in buckets]


def test_a_plan_that_is_slower_is_not_kept():
    run = Watched("planned")
    before = _names(run.replica.buckets)
    run.run(WARM + WATCH, lambda _: 1.0)
    # Nothing takes time on this clock: each gradient alone and all in one end alike, and the plan is one bucket.
    run.pilot.settings[1] = Setting("each alone", run.pilot.schedule, tuple((i,) for i in range(6)), crosses=False)
    run.run(TRIAL, lambda r: 2.0 if len(r.buckets) == 6 else 1.0)
    assert _names(run.replica.buckets) == before
    assert "on as it was, after a trial (as it was: 1 s; each alone: 2 s a step)" in run.replica.decisions[0]


def test_a_plan_that_is_faster_is_kept():
    run = Watched("planned")
    run.run(WARM + WATCH, lambda _: 1.0)
    run.pilot.settings[1] = Setting("each alone", run.pilot.schedule, tuple((i,) for i in range(6)), crosses=False)
    run.run(TRIAL, lambda r: 0.5 if len(r.buckets) == 6 else 1.0)
    assert len(run.replica.buckets) == 6
    assert "on each alone" in run.replica.decisions[0]
    run.run(3, lambda _: 1.0)
    assert len(run.replica.buckets) == 6


def test_a_step_that_drifts_is_measured_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("laconic.pilot.RECHECK", 4)
    run = Watched("planned(guard=off)")
    run.run(WARM + WATCH + 4, lambda _: 1.0)
    run.run(4, lambda _: 1.0)
    assert len(run.replica.decisions) == 1
    run.run(4, lambda _: 3.0)
    assert "a step takes 3 s now, it was 1 s" in run.replica.decisions[1]
    run.run(WARM + WATCH, lambda _: 3.0)
    assert "from step" in run.replica.decisions[2]
    assert RECHECK > 100


def test_what_remembers_by_bucket_travels_dense_until_it_is_cut():
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 3))
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, "ef(topk(0.5)) / planned")
    assert isinstance(replica, Replica)
    replica.pilot = Pilot(replica, model, ManualClock())
    assert all(b.plain for b in replica.buckets)
    for _ in range(WARM + WATCH):
        model(torch.randn(4, 64)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    assert not all(b.plain for b in replica.buckets)
    assert "remembers by bucket" in replica.decisions[0]
    saved = replica.state_dict()
    replica.close()
    again = laconic.distribute(model, optimizer, "ef(topk(0.5)) / planned")
    assert isinstance(again, Replica)
    again.pilot = Pilot(again, model, ManualClock())
    again.load_state_dict(saved)
    assert _names(again.buckets) == [tuple(names) for names in saved["cut"]]
    assert not all(b.plain for b in again.buckets)


TRIED = (("512B", "512B"), ("1KiB", "2KiB"), ("2KiB", "2KiB"), ("4KiB", "8KiB"))
WANTED = 1 << 10


def _largest(replica: Replica) -> int:
    """Bytes of the longest message this replica sends now."""
    return max(unit.spec.nbytes for unit in replica.units)


def _tuned(rank: int, world: int) -> tuple[list[str], list[int], int, bool]:
    laconic.init(timeout_s=30)
    pricing.SIZES = (2**10, 2**13)
    priority._TRIED = TRIED
    run = Watched("priority(auto, credit=auto)", rank)
    used: list[int] = []

    def seconds(replica: Replica) -> float:
        used.append(_largest(replica))
        crosses = replica.crossing is not None and replica.crossing.on
        if not crosses:
            return 4.0
        return 1.0 if WANTED // 2 < used[-1] <= WANTED else 2.0 + 0.1 * rank

    run.run(WARM + WATCH, lambda _: 1.0)
    run.run(75, seconds)
    assert isinstance(run.replica.driver, Lanes)
    crosses = run.replica.crossing is not None and run.replica.crossing.on
    return run.replica.decisions, used, run.replica.driver.width, crosses


def test_the_tuned_value_is_the_one_in_use_on_all_ranks_from_the_same_step():
    zero, one = results(2, _tuned)
    assert zero == one  # also what every single step was sent with
    decisions, used, width, crosses = zero
    assert len(decisions) == 1
    assert "on priority(1KiB, credit=2KiB)" in decisions[0].replace("'", "")
    decided = int(decisions[0].split("from step ")[1].split()[0]) - (WARM + WATCH) - 1
    assert {512, 1024, 2048, 4096} <= set(used[:decided])  # all of them were tried
    assert decided < len(used)
    assert set(used[decided:]) == {WANTED}
    assert crosses
    assert width == 2  # lanes: a credit of two chunks


def _guarded(rank: int, world: int, plan: str) -> tuple[list[str], list[str]]:
    laconic.init(timeout_s=30)
    pricing.SIZES = (2**10, 2**13)
    run = Watched(plan, rank)
    run.run(WARM + WATCH, lambda _: 1.0)
    labels = [s.label for s in run.pilot.settings]
    fused = run.pilot.settings[0]
    run.run(3 * ROUNDS * (WINDOW + 1), lambda r: 1.0 if run.pilot.in_use is fused else 2.0)
    return labels, run.replica.decisions


@pytest.mark.parametrize(
    ("plan", "labels"),
    [
        ("crossed(2KiB)", ["fused", "barrier", "crossed(2KiB)"]),
        ("tic(2KiB)", ["fused", "barrier", "tic(2KiB)"]),
        ("ef(topk(0.5)) / crossed(2KiB)", ["barrier", "crossed(2KiB)"]),  # its buckets cannot change
    ],
)
def test_a_delayed_step_must_beat_its_own_buckets_and_those_of_ddp(plan: str, labels: list[str]):
    (tried, decisions), other = results(2, _guarded, plan)
    assert (tried, decisions) == other
    assert [label.replace("'", "") for label in tried] == labels
    assert f"on {labels[0]}, after a trial" in decisions[0]


def test_several_sizes_cannot_be_tried_with_a_memory():
    with pytest.raises(UsageError, match="remembers by bucket"):
        _memory()


def _memory() -> None:
    model = torch.nn.Linear(300, 300)
    optimizer = sgd(model)
    replica = laconic.distribute(model, optimizer, "ef(topk(0.5)) / crossed(auto)")
    assert isinstance(replica, Replica)
    Pilot(replica, model, ManualClock())

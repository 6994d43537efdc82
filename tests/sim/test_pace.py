"""Stragglers under every kind of plan, by hand."""

from __future__ import annotations

import re
import tracemalloc

import pytest

from laconic.core.errors import PlanError
from laconic.plan import Plan
from laconic.sim.exchanges import Setting
from laconic.sim.machine import Coding, Machine
from laconic.sim.model import ModelTable, table
from laconic.sim.network import Line, Network
from laconic.sim.pace import Pace, pace
from laconic.sim.step import simulate
from laconic.sim.stragglers import Stragglers, parse_stragglers

FAST, SLOW = Network(Line(0.0, 0.0)), Network(Line(0.0, 1e-6))
QUIET = Machine(coding=Coding(0.0, 0.0), votes=False)


def toy() -> ModelTable:
    """12 s a step."""
    return table("toy", [(f"w{i}", (1_000_000,)) for i in range(4)], [1.0] * 4, batch=1)


def seen(text: str, stragglers: str, world: int = 4, network: Network = FAST) -> Pace:
    return pace(Plan.parse(text), Setting(toy(), network, world, QUIET), parse_stragglers(stragglers))


def seconds(text: str, stragglers: str, world: int = 4, network: Network = FAST) -> float:
    return seen(text, stragglers, world, network).seconds


def test_the_last_worker_is_followed_however_many_there_are() -> None:
    """slow(3, 1) slows the last; in a ring of 1,024 it reaches at most 24 to each side, and itself."""
    assert seconds("gossip(ring)", "slow(3, 1)", 1024) == pytest.approx(36.0)


def test_a_torus_with_rows_is_followed_whole() -> None:
    assert seconds("gossip(torus(100))", "slow(3, 1)", 600) == pytest.approx(36.0)


@pytest.mark.parametrize(("graph", "peers"), [("exp", 10), ("complete", 1023), ("ring", 2), ("one_peer_exp", 1)])
def test_neighbours_are_counted_among_all_workers(graph: str, peers: int) -> None:
    step = simulate(Plan.parse(f"gossip({graph}) / fused(1GiB, first=1GiB)"), Setting(toy(), SLOW, 1024, QUIET))
    assert step.messages == peers


def test_downpour_pushes_as_often_as_it_says() -> None:
    """One worker waits 16 s for a push and as long for a pull, once in four steps."""
    every, fourth = (seconds(f"downpour({n}, fetch={n}) / ps", "none", 2, SLOW) for n in (1, 4))
    assert every - 12 > 3 * (fourth - 12) > 0


def test_a_backup_worker_is_not_waited_for() -> None:
    assert seconds("backup(1) / ps", "slow(3, 1)") == pytest.approx(12.0)
    assert seconds("backup(0) / ps", "slow(3, 1)") == pytest.approx(36.0)


def test_in_a_ring_of_turns_all_wait_for_the_slow_one() -> None:
    assert seconds("r2sp / ps", "slow(3, 1)") > 34.0
    assert seconds("asp / ps", "slow(3, 1)") == pytest.approx((3 * 12 + 36) / 4)


def test_a_window_for_late_updates_is_refused() -> None:
    with pytest.raises(PlanError, match=r"Simulate backup\(1\)"):
        seconds("backup(1, grace=2) / ps", "slow(3, 1)")


def test_more_messages_than_can_be_raced_are_refused() -> None:
    with pytest.raises(PlanError, match="Simulate fewer workers, or fewer servers"):
        seconds("asp / ps(colocated)", "slow(3, 1)", 1024)


def test_a_hidden_averaging_waits_for_the_slowest_only_when_it_lands() -> None:
    """24 s of messages begin when the slow one is there; the others have trained on by then."""
    assert seconds("local(2)", "slow(3, 1)", 4, SLOW) == pytest.approx(36 + 24 / 2)
    assert seconds("cocod(2)", "slow(3, 1)", 4, SLOW) == pytest.approx(36.0)


@pytest.mark.parametrize("stragglers", ["lognormal(0.3)", "slow(3, 1)"])
def test_post_local_waits_as_the_local_it_becomes(stragglers: str) -> None:
    assert seconds("post_local(100, h=16)", stragglers, 8, SLOW) == seconds("local(16)", stragglers, 8, SLOW)
    assert seconds("post_local(100, h=16)", stragglers, 8, SLOW) < seconds("none", stragglers, 8, SLOW)


def test_nobody_waits_for_a_slow_worker_where_nobody_talks() -> None:
    assert seconds("silent", "slow(3, 1)", 4, SLOW) == pytest.approx((3 * 12 + 36) / 4)
    varied = seen("silent", "lognormal(0.5)", 4, SLOW)
    assert varied.seconds == varied.alone_s


@pytest.mark.parametrize(
    "text", ["asp / ps", "ssp(2) / ps(servers=2)", "r2sp / ps", "backup(1) / ps", "asp / ps(colocated)"]
)
def test_workers_that_are_equally_fast_are_raced_too(text: str) -> None:
    once = pace(Plan.parse(text), Setting(toy(), SLOW, 4, QUIET), Stragglers("slow", 1.0))
    assert seconds(text, "none", 4, SLOW) == once.seconds == once.step.seconds


def test_two_equal_workers_push_and_compute_by_turns() -> None:
    """12 s of computing, 16 s a push and 16 s a pull; the second is 16 s behind in its first step and no more then."""
    assert seconds("asp / ps", "none", 2, SLOW) == pytest.approx(12 + 16 + 16 + 16 / 2 / 24)


def test_who_is_raced_also_writes_and_reads() -> None:
    slow = Machine(coding=Coding(1e-6, 1e-6), votes=False)
    plan = Plan.parse("asp / ps / ef(topk(0.01))")
    coded, free = (pace(plan, Setting(toy(), FAST, 4, m)).seconds for m in (slow, QUIET))
    assert free == pytest.approx(12.0)
    assert coded >= 12.0 + 4.0 / 2  # to write four million elements, in two lanes


def test_what_is_too_long_to_be_raced_says_so() -> None:
    """Without stragglers there is a step to show."""
    for text, why in (("asp / ps(colocated)", "fewer servers"), ("backup(1, grace=2) / ps", r"backup\(1\)")):
        notes = pace(Plan.parse(text), Setting(toy(), FAST, 1024, QUIET)).step.notes
        assert any(re.search(f"not raced.*{why}", note) for note in notes)


def test_with_stragglers_two_races_share_their_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    monkeypatch.setattr("laconic.sim.pace.raced", lambda _, sums: counted.append(len(sums)) or 1.0)
    for text, turns in (("asp / ps(servers=16)", [5, 5]), ("ssp(3) / ps(servers=60)", [3, 3])):
        counted.clear()
        pace(Plan.parse(text), Setting(toy(), FAST, 1024, QUIET), parse_stragglers("lognormal(0.2)"))
        assert counted == turns


@pytest.mark.parametrize("text", ["none", "local(8)", "gossip(ring)", "silent", "asp / ps"])
def test_speedup_is_over_an_ordinary_worker_not_over_a_slow_one(text: str) -> None:
    assert seen(text, "slow(3, 2)", 4, SLOW).alone_s == pytest.approx(12.0)
    assert seen(text, "exp(1)", 64).alone_s == pytest.approx(24.0, rel=0.1)  # a draw's mean is 2; 1,536 draws


@pytest.mark.parametrize("text", ["none", "local(8)", "asp / ps"])
def test_what_is_waited_for_slow_workers_is_named_so(text: str) -> None:
    """Without a network nobody else can be waited for; with a slow one and hardly any stragglers it is the line."""
    assert seen(text, "slow(10, 1)").bottleneck == "stragglers"
    assert seen(text, "slow(1.01, 1)", 4, SLOW).bottleneck == "line"
    assert seen(text, "slow(1.01, 1)").bottleneck == "compute"
    assert seen(text, "none").stragglers_s == 0.0


def test_thousands_of_steps_are_not_held_in_memory_together() -> None:
    """4,000 x 1,000 factors are 32 MB; they are drawn 2 MB at a time, with as much again for each operation."""
    setting = Setting(toy(), FAST, 1000, QUIET)
    tracemalloc.start()
    try:
        pace(Plan.parse("local(4000)"), setting, parse_stragglers("lognormal(0.5)"))
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()

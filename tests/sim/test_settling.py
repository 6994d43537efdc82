"""Measured schedules in virtual time: the runtime's own objects, on a model small enough to work out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from laconic.core.errors import PlanError
from laconic.plan import Plan
from laconic.schedule.curve import straight
from laconic.schedule.partition import end, planned
from laconic.sim.exchanges import Setting
from laconic.sim.lanes import Step
from laconic.sim.machine import Coding, Machine
from laconic.sim.model import ModelTable, table
from laconic.sim.models import layer_table
from laconic.sim.network import Line, Network, parse_line
from laconic.sim.step import simulate

ONE_LANE = Machine(coding=Coding(0.0, 0.0), votes=False, lanes=1)
ALL = ("planned", "mgwfbp", "priority", "priority(1MiB, credit=4MiB)", "tic", "tac", "crossed", "crossed(4MiB)")


def toy(layers: int = 6, numel: int = 1_000_000) -> ModelTable:
    """Each layer 4 MB, 1 s forward, 2 s backward."""
    return table("toy", [(f"w{i}", (numel,)) for i in range(layers)], [1.0] * layers, batch=1)


def step(text: str, line: Line, model: ModelTable | None = None, machine: Machine = ONE_LANE) -> Step:
    return simulate(Plan.parse(text), Setting(model or toy(), Network(line), 4, machine))


def test_planned_ends_when_its_own_model_says() -> None:
    """A ring of four: 6 latencies and 1.5 S beta; one message after the other."""
    line = Line(0.3, 0.5e-6)
    cost = straight(6 * 0.3, 1.5 * 0.5e-6)
    ready, sizes = [2.0 * i for i in range(6)], [4_000_000] * 6
    best = 6 + 2 + end(ready, sizes, planned(ready, sizes, cost), cost)  # forward, and the first gradient
    assert step("planned(guard=off)", line).seconds == pytest.approx(best, rel=1e-6)
    assert step("planned", line).seconds <= step("fused", line).seconds
    assert step("planned", line).seconds <= step("mgwfbp(guard=off)", line).seconds + 1e-9


@pytest.mark.parametrize("text", ALL)
@pytest.mark.parametrize("line", [Line(0.0, 0.0), Line(0.5, 0.2e-6), Line(0.01, 1e-6)])
def test_a_guarded_schedule_is_never_slower_than_ddps_buckets_and_says_what_it_kept(text: str, line: Line) -> None:
    seen, usual = step(text, line), step("fused", line)
    assert seen.alone_s - 1e-9 <= seen.seconds <= usual.seconds + 1e-9
    assert any("trial" in note for note in seen.notes)


def test_what_is_needed_first_goes_first_and_the_rest_hides_behind_forward() -> None:
    """Messages of 3 s, gradients of layers 5 to 0 ready 2, 4, ... 12 s after backward began. One message at a time, the
    most urgent first: 5 (until 5), 4 (8), 2 (11), 1 (14), 0 (17), 3 (20). The next forward pass begins with layer 0
    at 17 and waits for nobody else: it ends, and a step with it, at 23."""
    line = Line(0.0, 0.5e-6)
    assert step("priority(4MB, credit=4MB, guard=off)", line).seconds == pytest.approx(23.0)
    assert step("wfbp", line).seconds == pytest.approx(6 + 2 + 18)


def test_where_messages_are_short_a_crossing_step_costs_what_it_computes() -> None:
    line = Line(0.0, 0.1e-6)  # 0.6 s each: hidden but for the last, which forward waits for before its first layer
    assert step("wfbp", line).seconds == pytest.approx(18.6)
    assert step("priority(4MB, credit=4MB, guard=off)", line).seconds == pytest.approx(18.6)
    halves = step("crossed(4MB, guard=off)", line)  # 0.3 s during backward, but for the last; then 0.3 s
    assert halves.seconds == pytest.approx(18.6)


def test_halves_say_the_bytes_of_an_all_reduce() -> None:
    line = Line(0.0, 1e-7)
    assert step("crossed(4MB, guard=off)", line).sent_bytes == pytest.approx(step("wfbp", line).sent_bytes)


def test_over_servers_steps_are_not_delayed_but_in_order() -> None:
    seen = step("priority / ps", Line(0.0, 1e-7))
    assert seen.seconds > seen.alone_s


def test_a_compressor_that_remembers_is_cut_once_without_a_trial() -> None:
    seen = step("planned / ef(topk(0.01))", Line(0.01, 1e-7), machine=replace(ONE_LANE, votes=True))
    assert not any("trial" in note for note in seen.notes)


def test_an_order_that_takes_minutes_is_refused() -> None:
    with pytest.raises(PlanError, match=r"Simulate tic\(4MiB\)"):
        step("tac", Line(0.0, 1e-9), layer_table("resnet50"))


@pytest.mark.parametrize("text", ["planned", "mgwfbp", "priority", "tic", "crossed", "crossed / ef(topk(0.01))"])
def test_a_real_model_of_many_workers_is_settled(text: str) -> None:
    setting = Setting(layer_table("resnet50"), Network(parse_line("10gbit:50us")), 256)
    assert simulate(Plan.parse(text), setting).seconds > 0

"""What a timeline shows is one whole step."""

from __future__ import annotations

import pytest

from laconic.plan import Plan
from laconic.sim.drawing import between
from laconic.sim.exchanges import Setting
from laconic.sim.fluid import On, Span
from laconic.sim.lanes import MAIN
from laconic.sim.machine import Coding, Machine
from laconic.sim.model import ModelTable, table
from laconic.sim.network import Line, Network
from laconic.sim.pace import pace
from laconic.sim.step import simulate

QUIET = Machine(coding=Coding(0.0, 0.0), votes=False, step_s=1.0)
SLOW = Network(Line(0.0, 1e-6))


def toy() -> ModelTable:
    """4 s forward, 8 s backward, 2 s update."""
    return table("toy", [(f"w{i}", (1_000_000,)) for i in range(4)], [1.0] * 4, batch=1, update_s=2.0)


def spans(text: str, world: int = 4) -> tuple[Span, ...]:
    return simulate(Plan.parse(text), Setting(toy(), SLOW, world, QUIET)).spans


@pytest.mark.parametrize(("text", "world"), [("none", 1), ("silent", 4), ("local(8)", 4), ("gossip(ring)", 4)])
def test_a_worker_computes_before_it_talks(text: str, world: int) -> None:
    drawn = spans(text, world)
    more = 1.0 if world > 1 and text != "silent" else 0.0
    mine = [s for s in drawn if s.actor == MAIN]
    assert [s.name for s in mine] == ["forward", "w3", "w2", "w1", "w0", "update"]
    assert [s.end for s in mine] == [4.0, 6.0, 8.0, 10.0, 12.0, 14.0 + more]
    others = [s for s in drawn if s.actor != MAIN]
    assert all(s.start >= 15.0 for s in others)
    assert bool(others) == (more > 0)


def test_a_local_step_that_talks_is_drawn_whole() -> None:
    step = simulate(Plan.parse("local(1)"), Setting(toy(), SLOW, 4, QUIET))
    assert max(s.end for s in step.spans) == pytest.approx(step.seconds)


def test_of_steps_that_cross_one_is_drawn() -> None:
    """24 s of messages a step: in each 12 s of forward and backward and 2 s of update, once."""
    step = simulate(Plan.parse("crossed(4MB, guard=off)"), Setting(toy(), SLOW, 4, QUIET))
    assert max(s.end for s in step.spans) == pytest.approx(step.seconds)
    assert min(s.start for s in step.spans) == 0.0
    assert sum(s.end - s.start for s in step.spans if s.actor == MAIN) == pytest.approx(12 + 2 + 1)
    assert sum(s.end - s.start for s in step.spans if s.on is On.LINE) >= 24 - 1e-6  # some share the line


def test_spans_are_cut_where_the_picture_ends() -> None:
    long, gone = Span("lane 0", On.LINE, "a", 1.0, 9.0), Span("lane 0", On.LINE, "b", 0.0, 2.0)
    assert between([long, gone], 2.0, 5.0) == (long._replace(start=0.0, end=3.0),)


def test_a_race_has_no_one_step_to_draw() -> None:
    assert not pace(Plan.parse("asp / ps"), Setting(toy(), SLOW, 4, QUIET)).step.spans

"""Reasons for rankings whose answer is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from laconic.planner.candidates import candidates
from laconic.planner.network_file import NetworkTable
from laconic.planner.risk import Risk
from laconic.planner.search import Found, Planner, Ranking
from laconic.planner.why import reasons
from laconic.sim.lanes import Step
from laconic.sim.machine import Machine
from laconic.sim.model import table
from laconic.sim.network import Line, Network

MODEL = table("m", [(f"w{i}", (2000, 250)) for i in range(4)], [0.1 / 12] * 4, batch=8)


def said(line: Line, world: int = 4, network: NetworkTable | None = None) -> str:
    planner = Planner(MODEL, Network(line), Machine(), network)
    return " ".join(reasons(planner, planner.rank(world, candidates(lossy=False))))


def test_where_nothing_gains_ddp_is_the_answer() -> None:
    assert "DDP is the answer" in said(Line(1e-6, 1e-12))


def test_a_line_that_cannot_be_hidden_is_told() -> None:
    assert "no lossless order" in said(Line(1e-4, 8e-8))


def test_who_should_not_distribute_is_told() -> None:
    assert "Do not distribute" in said(Line(0.1, 8e-6))


def test_one_worker_is_not_told_to_stay_alone() -> None:
    text = said(Line(1e-4, 8e-8), world=1)
    assert text.startswith("1 worker: ")
    assert text.endswith("One worker has nobody to talk to: every plan is as fast as none.")


def of_eight(texts: Sequence[str]) -> str:
    planner = Planner(MODEL, Network(Line(1e-6, 8e-9)), Machine())
    return " ".join(reasons(planner, planner.rank(8, texts)))


def test_servers_on_hosts_of_their_own_are_told_and_what_is_best_without_them() -> None:
    text = of_eight(["none", "ps(servers=8)"])
    assert "Its 8 servers have hosts of their own: it needs 8 more hosts." in text
    assert "Without more hosts DDP is the answer" in text
    assert "Without more hosts bf16 (rounded) is the fastest: " in of_eight(["none", "bf16", "ps(servers=8) / bf16"])


def test_without_more_hosts_one_worker_may_be_the_answer() -> None:
    """A step of the others takes 5 s, of one worker alone 1 s."""
    step = Step(3.5, 1.0, 0.0, 0.0, 0.0, 0.0, ())
    servers = Found("ps(servers=2)", 4, Risk.LOSSLESS, step, 1.0, more_hosts=2)
    ddp = Found("ddp", 4, Risk.LOSSLESS, replace(step, seconds=5.0), 1.0)
    said = " ".join(reasons(Planner(MODEL, Network(Line(0.0, 0.0)), Machine()), Ranking((servers, ddp))))
    assert "Without more hosts one worker is faster alone: 4 workers do 0.80 times its work." in said
    assert "Without more hosts DDP" not in said


def test_without_servers_nobody_speaks_of_hosts() -> None:
    assert "more hosts" not in of_eight(["none", "bf16", "ps(colocated)"])


def test_a_slow_pair_is_a_reason() -> None:
    line = Line(1e-6, 1e-12)
    pairs = tuple(tuple((1e-4, 1e6 if (a, b) == (0, 2) else 9e6) for b in range(3)) for a in range(3))
    network = replace(NetworkTable(4, 1, 4, {}, {}, line), pairs=pairs)
    assert "From rank 0 to rank 2 a byte takes 9.0 times as long" in said(line, network=network)

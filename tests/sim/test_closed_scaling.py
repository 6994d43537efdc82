"""Survey 002's two ratios, with its own numbers and against simulated steps."""

from __future__ import annotations

import pytest

from laconic.plan import Plan
from laconic.sim.closed_scaling import c2c, speedup
from laconic.sim.exchanges import Setting
from laconic.sim.machine import Coding, Machine
from laconic.sim.model import table
from laconic.sim.network import Line, Network
from laconic.sim.play import play
from laconic.sim.step import simulate
from laconic.topology.cost import cost
from laconic.topology.programs import build

MACHINE = Machine(coding=Coding(0.0, 0.0), lanes=1, votes=False)
LINE = Line(1e-4, 1e-8)


def test_bert_large_on_four_cards() -> None:
    """163 ms of computing each and 441 ms of all-reduce: "a poor speedup of 1.08"."""
    assert round(speedup(4 * 0.163, 4, 0.441), 2) == 1.08


def test_small_batches_and_low_intensity_scale_badly() -> None:
    """Survey 002: BERT-Large's C2C is about 8 times BERT-Base's, ResNet-50's around half of it."""
    resnet50, base, large = (c2c(1.5, batch, i) for batch, i in ((64, 470), (64, 249), (8, 248)))
    assert large / base == pytest.approx(8, rel=0.01)
    assert resnet50 / base == pytest.approx(0.5, rel=0.1)


@pytest.mark.parametrize("world", [2, 4, 16])
def test_a_step_that_hides_nothing_speeds_up_as_the_form_says(world: int) -> None:
    model = table("toy", [("w", (1_000_000,))], [1.0], batch=1)
    step = simulate(Plan.parse("fifo(bucket=4GiB)"), Setting(model, Network(LINE), world, MACHINE))
    messages_s = play([build("ring", r, world, 1_000_000) for r in range(world)], Network(LINE)).seconds
    assert world * step.alone_s / step.seconds == pytest.approx(
        speedup(world * step.alone_s, world, messages_s), rel=1e-4
    )


@pytest.mark.parametrize("name", ["ring", "recursive_doubling", "tree"])
def test_c2c_is_the_time_of_messages_over_that_of_computing(name: str) -> None:
    """In units of a parameter on the line and of an operation; latency is no part of it."""
    world, parameters, batch, intensity, operation_s = 8, 5040, 16, 250, 1e-12
    free = Network(Line(0.0, LINE.beta_s))
    messages_s = play([build(name, r, world, parameters) for r in range(world)], free).seconds
    computing_s = batch * intensity * parameters * operation_s
    ratio = c2c(cost(name, world, 1.0).nbytes, batch, intensity)
    assert messages_s / computing_s == pytest.approx(ratio * 4 * LINE.beta_s / operation_s)

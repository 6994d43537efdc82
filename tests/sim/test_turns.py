"""What is said in which turn: bytes and hiding by hand, and sentences where virtual time cannot follow."""

from __future__ import annotations

import pytest

from laconic.core.errors import PlanError
from laconic.plan import Plan
from laconic.sim.exchanges import Setting
from laconic.sim.lanes import Step
from laconic.sim.machine import Coding, Machine
from laconic.sim.model import ModelTable, table
from laconic.sim.network import Line, Network
from laconic.sim.step import fits, simulate

QUIET = Machine(coding=Coding(0.0, 0.0), votes=False)
SLOW = Network(Line(0.0, 1e-6))  # a bucket of 4 MB among four: 6 s
ONE_EACH = "fused(4MB, first=4MB)"


def toy(layers: int = 4) -> ModelTable:
    """Each layer 4 MB, 1 s forward, 2 s backward: 12 s a step, 24 s of messages."""
    return table("toy", [(f"w{i}", (1_000_000,)) for i in range(layers)], [1.0] * layers, batch=1)


def step(text: str, machine: Machine = QUIET) -> Step:
    return simulate(Plan.parse(text), Setting(toy(), SLOW, 4, machine))


def test_a_fragment_a_turn_says_the_model_once_in_h_steps() -> None:
    whole, parts = step(f"diloco(8) / {ONE_EACH}"), step(f"diloco(8, fragments=4) / {ONE_EACH}")
    assert parts.sent_bytes == pytest.approx(whole.sent_bytes) == pytest.approx(24e6 / 8)
    assert parts.seconds == pytest.approx(whole.seconds) == pytest.approx(12 + 24 / 8)


def test_a_block_a_step_says_a_part_of_the_gradient() -> None:
    assert step(f"blocks(4) / {ONE_EACH}").sent_bytes == pytest.approx(step(ONE_EACH).sent_bytes / 4)
    assert step(f"blocks(1) / {ONE_EACH}").seconds == pytest.approx(step(ONE_EACH).seconds)


def test_fragments_need_as_many_buckets() -> None:
    for text in ("diloco(8, fragments=8)", "blocks(8)"):
        with pytest.raises(PlanError, match="4 buckets, which cannot be shared by 8"):
            step(f"{text} / {ONE_EACH}")


def test_an_averaging_that_hides_behind_steps_costs_what_sticks_out() -> None:
    assert step("cocod(8)").seconds == pytest.approx(12.0)
    assert step("cocod(1)").seconds == pytest.approx(24.0)  # 24 s of messages behind 12 s
    assert step("diloco(8, overlap=1)").seconds == pytest.approx(12 + 12 / 8)
    assert step("diloco(8, overlap=2)").seconds == pytest.approx(12.0)
    assert step("local(8)").seconds == pytest.approx(12 + 24 / 8)


def test_what_hides_still_takes_its_share_of_the_cores() -> None:
    busy = Machine(cores=1.0, coding=Coding(0.0, 0.0), votes=False, send_cpu_s=1e-6)
    hidden = step("cocod(8)", busy)
    assert hidden.seconds == pytest.approx(12 + 24 / 8)  # 24 MB sent, a second of the core each


def test_post_local_is_simulated_as_what_it_becomes_and_says_so() -> None:
    seen, local = step("post_local(100, h=16)"), step("local(16)")
    assert (seen.seconds, seen.sent_bytes) == (local.seconds, local.sent_bytes)
    assert any("after 100 steps" in note for note in seen.notes)


def test_periods_that_follow_the_loss_are_said_to_be_the_first() -> None:
    assert any("follow the loss" in note for note in step("adacomm(16)").notes)


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("lag", "bsp"),
        ("cmfl", "local"),
        ("asp", "asp / ps"),
        ("ssp(3)", "ssp.* / ps"),
        ("blocks(4, delay=1)", "blocks"),
        ("downpour(4, fetch=8) / ps", r"downpour\(4, fetch=4\)"),
        ("asp / gossip(ring, adpsgd)", r"gossip\(ring\)"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_what_can(text: str, instead: str) -> None:
    with pytest.raises(PlanError, match=f"Simulate .*{instead}"):
        step(text)
    assert "Simulate" in (fits(Plan.parse(text), 4) or "")

"""Paced: what it decides from how long exchanges took, alike on all ranks."""

from __future__ import annotations

import logging

import pytest

from laconic.compress import QSGD, ErrorFeedback, Paced, PowerSGD, TopK
from laconic.core.bucket import one_tensor
from laconic.core.clock import ManualClock
from laconic.core.errors import PlanError
from laconic.core.exchange import Seat, Turn
from laconic.drive.lockstep import lockstep
from laconic.topology import AllReduce
from tests.zoo import noise

SPEC = one_tensor(400)


def rungs(plan: Paced, steps: int, took_ms: list[float], monkeypatch: pytest.MonkeyPatch, world: int = 3) -> list[int]:
    """The rung after every step, where the clock moves by so many milliseconds an exchange."""
    clock = ManualClock()
    monkeypatch.setattr("laconic.compress.paced.WallClock", lambda: clock)
    seats = [Seat(rank, world, AllReduce()) for rank in range(world)]
    states = [plan.init(SPEC, seat) for seat in seats]
    seen = []
    for step in range(steps):
        programs = [plan.exchange(noise(400, r), states[r], SPEC, Turn(seats[r], step)) for r in range(world)]
        asks = [program.send(None) for program in programs]
        for program in programs:
            program.close()
        assert asks
        programs = [plan.exchange(noise(400, r), states[r], SPEC, Turn(seats[r], step)) for r in range(world)]
        states = [out.state for out in lockstep([_slow(p, clock, took_ms[step]) for p in programs])]
        assert len({int(s.rung) for s in states}) == 1
        seen.append(int(states[0].rung))
    return seen


async def _slow(program, clock: ManualClock, took_ms: float):  # type: ignore[no-untyped-def]
    """The same exchange, during which time passes."""
    answer = None
    try:
        while True:
            ask = program.send(answer)
            clock.advance(took_ms * 1e-3)
            answer = await ask
    except StopIteration as stop:
        return stop.value


def test_slow_exchanges_turn_the_ratio_down_and_fast_ones_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Paced(TopK(0.4), within=10.0, window=3, rungs=3)
    took = [50.0] * 9 + [0.1] * 9
    seen = rungs(plan, 18, took, monkeypatch)
    assert seen[2::3] == [1, 2, 2, 1, 0, 0]


def test_in_between_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(rungs(Paced(TopK(0.4), within=10.0, window=2), 8, [2.0] * 8, monkeypatch)) == {0}


def test_rungs_halve_ratios_and_take_bits_away() -> None:
    assert Paced(TopK(0.4)).rung(2) == TopK(0.1)
    assert Paced(QSGD(4)).rung(1) == QSGD(3)
    assert Paced(QSGD(4)).rung(5) == QSGD(2)


def test_a_change_is_logged_once_by_rank_0(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="laconic"):
        rungs(Paced(TopK(0.4), within=10.0, window=2, rungs=2), 4, [50.0] * 4, monkeypatch)
    assert [r.getMessage() for r in caplog.records] == [
        "step 1, bucket 0 (x): 1 of 1 exchanges took longer than 10 ms; from here on topk(0.2)"
    ]


@pytest.mark.parametrize("bad", [{"within": 0.0}, {"window": 0}, {"rungs": 1}, {"inner": PowerSGD(2)}])
def test_what_cannot_be_paced_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(PlanError, match="paced"):
        Paced(**{"inner": TopK(0.1)} | bad)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="around"):
        Paced(ErrorFeedback(TopK(0.1)))

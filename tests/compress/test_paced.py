"""Paced: what it decides from how long exchanges took, alike on all ranks."""

from __future__ import annotations

import pytest

from laconic.compress import QSGD, ErrorFeedback, Paced, PowerSGD, TopK
from laconic.core.bucket import one_tensor
from laconic.core.clock import ManualClock
from laconic.core.errors import PlanError
from laconic.core.exchange import Seat, Turn
from laconic.core.minutes import Minutes
from laconic.drive.lockstep import lockstep
from laconic.plan import Plan
from laconic.topology import AllReduce
from tests.zoo import noise

SPEC = one_tensor(400)
Seen = tuple[list[int], list[list[str]]]


def rungs(plan: Paced, took_ms: list[float], computed_ms: float | None = None, world: int = 3) -> Seen:
    """The rung after every step, where the clock moves by so many milliseconds an exchange; each rank's decisions."""
    clock = ManualClock()
    seats = [Seat(rank, world, AllReduce()) for rank in range(world)]
    minutes = [Minutes(clock) for _ in seats]
    states = [plan.init(SPEC, seat) for seat in seats]
    seen = []
    for step, ms in enumerate(took_ms):
        for m in minutes:
            m.sizes, m.hiding_s = {SPEC.id: 400, 7: 400}, None if computed_ms is None else 1e-3 * computed_ms
        turns = [Turn(seat, step, 1.0, m) for seat, m in zip(seats, minutes, strict=True)]
        programs = [plan.exchange(noise(400, r), states[r], SPEC, turns[r]) for r in range(world)]
        states = [out.state for out in lockstep([_slow(p, clock, ms) for p in programs])]
        assert len({int(s.rung) for s in states}) == 1
        seen.append(int(states[0].rung))
    return seen, [[str(d) for d in m.keep(len(took_ms))] for m in minutes]


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


def test_slow_exchanges_turn_the_ratio_down_and_fast_ones_up_again() -> None:
    plan = Paced(TopK(0.4), within=10.0, window=3, rungs=3)
    seen, _ = rungs(plan, [50.0] * 9 + [0.1] * 9)
    assert seen[2::3] == [1, 2, 2, 1, 0, 0]


def test_in_between_nothing_changes() -> None:
    plan = Paced(TopK(0.4), within=10.0, window=2)
    assert rungs(plan, [50.0] * 2 + [1.5] * 6)[0][1:] == [1] * 7  # on each of three ranks: half of what is allowed


def test_without_a_time_it_follows_what_a_step_computes() -> None:
    plan = Paced(TopK(0.4), window=2, rungs=3)
    slow, fast = [5.0] * 4, [0.1] * 4
    assert rungs(plan, slow + fast, computed_ms=20.0)[0][1::2] == [1, 2, 1, 0]  # half of it: there are two of them
    assert set(rungs(plan, slow + fast, computed_ms=400.0)[0]) == {0}


def test_before_anything_was_measured_nothing_changes() -> None:
    assert set(rungs(Paced(TopK(0.4), window=2), [1e6] * 6)[0]) == {0}


def test_rungs_halve_ratios_and_take_bits_away() -> None:
    assert Paced(TopK(0.4)).rung(2) == TopK(0.1)
    assert Paced(QSGD(4)).rung(1) == QSGD(3)
    assert Paced(QSGD(4)).rung(5) == QSGD(2)


def test_a_change_is_noted_alike_by_all_ranks() -> None:
    _, told = rungs(Paced(TopK(0.4), within=10.0, window=2, rungs=2), [50.0] * 4)
    why = "1 of 1 exchanges took longer than the 10 ms that are allowed"
    assert told == [[f"exchange 2, bucket 0 ('x'): topk(0.4) -> topk(0.2); {why}"]] * 3
    _, told = rungs(Paced(TopK(0.4), window=2), [50.0] * 2 + [0.1] * 2, computed_ms=20.0)
    assert [text.split("; ")[1] for text in told[0]] == [
        "1 of 1 exchanges took longer than the 10 ms that computing hides",
        "all 1 exchanges would have taken less than 50% of the 10 ms that computing hides",
    ]


def test_a_text_without_a_time_reads_back() -> None:
    for text in ("ef(paced(topk(0.1)))", "ef(paced(topk(0.1), within=20))"):
        assert str(Plan.parse(text).compress) == text


def test_where_nothing_computes_beside_it_a_time_must_be_said() -> None:
    with pytest.raises(PlanError, match="within=20"):
        Plan.parse("asp / ef(paced(topk(0.1)))")
    Plan.parse("asp / ef(paced(topk(0.1), within=20))")


@pytest.mark.parametrize("bad", [{"within": -1.0}, {"window": 1}, {"rungs": 1}, {"inner": PowerSGD(2)}])
def test_what_cannot_be_paced_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(PlanError, match="paced"):
        Paced(**{"inner": TopK(0.1)} | bad)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="around"):
        Paced(ErrorFeedback(TopK(0.1)))

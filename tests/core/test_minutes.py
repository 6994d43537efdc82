"""Minutes: decisions count when their turn does, and times are those of computing."""

from __future__ import annotations

import pytest

from laconic.core.bucket import one_tensor
from laconic.core.clock import ManualClock
from laconic.core.exchange import Seat, Turn
from laconic.core.minutes import Minutes
from laconic.topology import AllReduce

SPEC = one_tensor(10)


def test_notes_are_kept_by_turn_and_in_one_order() -> None:
    minutes, seat = Minutes(), Seat(0, 1, AllReduce())
    for step in (1, 0, 2):
        Turn(seat, step, 1.0, minutes).decided(SPEC, "a", "b", f"because {step}")
    assert [str(d) for d in minutes.keep(2)] == [
        "exchange 1, bucket 0 ('x'): a -> b; because 0",
        "exchange 2, bucket 0 ('x'): a -> b; because 1",
    ]
    assert [d.exchange for d in minutes.keep(3)] == [3]
    assert minutes.keep(9) == []


def test_where_nobody_asks_nothing_is_noted() -> None:
    Turn(Seat(0, 1, AllReduce()), 0).decided(SPEC, "a", "b", "no reason")


def test_what_hides_is_backward_from_its_first_gradient_shared_out_half_evenly_half_by_elements() -> None:
    clock = ManualClock()
    minutes = Minutes(clock)
    minutes.sizes, minutes.lanes = {0: 10, 1: 30}, 2
    assert minutes.allowed_s(SPEC) is None
    clock.advance(5.0)
    minutes.first_gradient()
    clock.advance(4.0)
    minutes.wait(overlapped=True)
    assert minutes.allowed_s(SPEC) == pytest.approx(2 * 4.0 * (1 / 2 + 1 / 4) / 2)
    minutes.lanes = 8  # only two messages are ever under way
    assert minutes.allowed_s(SPEC) == pytest.approx(2 * 4.0 * (1 / 2 + 1 / 4) / 2)


def test_what_leaves_after_a_step_may_take_as_long_as_computing_since_the_last() -> None:
    clock = ManualClock()
    minutes = Minutes(clock)
    minutes.sizes = {0: 10}
    minutes.wait(overlapped=False)
    assert minutes.allowed_s(SPEC) is None
    clock.advance(1.0)
    minutes.arrived()
    clock.advance(3.0)
    minutes.wait(overlapped=False)
    assert minutes.allowed_s(SPEC) == 3.0


def test_an_exchange_is_counted_among_its_buckets_own_where_parts_take_turns():
    """`gradzip / blocks(4)` would say the same factor for ever, by turns of all."""
    seat = Seat(0, 1, AllReduce())
    assert [Turn(seat, step, parts=4).number for step in (2, 6, 10, 14)] == [0, 1, 2, 3]
    assert [Turn(seat, step).number for step in (0, 1, 2)] == [0, 1, 2]

"""The most urgent chunk goes first, as far as credit lets it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from laconic.schedule.curve import straight
from laconic.schedule.queueing import Message, launch_order

BY_SIZE = straight(0.0, 1.0)  # a byte a second
LIMITLESS = 10**9


def _last_is_big() -> list[Message]:
    """Backward makes the last layer first: eight chunks of it, then, at second 2, the first layer's one."""
    return [*(Message(0.0, 1, 10 + k) for k in range(8)), Message(2.0, 1, 0)]


def test_the_first_layer_overtakes_what_has_not_left():
    assert launch_order(_last_is_big(), BY_SIZE, credit=1) == [0, 1, 8, 2, 3, 4, 5, 6, 7]


def test_credit_bounds_how_long_the_urgent_one_waits():
    # `credit` chunks leave at second 0, one more when the first has arrived at 1; the urgent one is next.
    for credit in (1, 3, 4):
        assert launch_order(_last_is_big(), BY_SIZE, credit).index(8) == credit + 1


def test_credit_without_limit_is_first_in_first_out():
    assert launch_order(_last_is_big(), BY_SIZE, credit=LIMITLESS) == list(range(9))


def test_one_message_larger_than_the_credit_still_goes():
    assert launch_order([Message(0.0, 10, 0), Message(0.0, 10, 1)], BY_SIZE, credit=1) == [0, 1]


@given(
    messages=st.lists(st.builds(Message, st.floats(0, 5), st.integers(0, 9), st.integers(0, 5)), max_size=20),
    credit=st.integers(1, 40),
)
def test_every_message_leaves_once(messages: list[Message], credit: int):
    assert sorted(launch_order(messages, BY_SIZE, credit)) == list(range(len(messages)))

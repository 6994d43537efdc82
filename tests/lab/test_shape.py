"""The token buckets: what passes at once stays small against 64 KB, and every packet fits."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laconic.lab.check import wire_bytes
from laconic.lab.rate import FASTEST, SLOWEST
from laconic.lab.shape import PEAK, SLOW_SHARE, Shape

PACKET = 1514
MESSAGE = 64 * 1024


@given(st.integers(SLOWEST, FASTEST))
def test_a_whole_packet_and_a_handed_over_piece_fit_every_bucket(rate: int) -> None:
    shape = Shape(rate)
    assert shape.small_bytes >= 2 * PACKET
    assert PACKET < shape.gso_bytes <= shape.small_bytes
    assert shape.queue_bytes > shape.small_bytes


@given(st.integers(SLOWEST, 250 * 10**6))
def test_up_to_250_mbit_a_64_kb_message_gains_less_than_9_percent(rate: int) -> None:
    on_wire = wire_bytes(MESSAGE)
    assert SLOW_SHARE * on_wire / (on_wire - Shape(rate).small_bytes) < 1.09
    assert "peakrate" not in Shape(rate).words()


@given(st.integers(SLOWEST, FASTEST), st.integers(SLOWEST, FASTEST))
def test_the_way_down_never_holds_up_a_lone_sender_that_is_no_faster(one: int, other: int) -> None:
    """Its pieces come at its own peak at most, and two of them at once when the first was late."""
    up, down = sorted((one, other))
    rate, burst = re.findall(r"rate (\d+)bit limit \d+b burst (\d+)b", Shape(down).loose_words())[0]
    assert int(rate) >= up * (PEAK if Shape(up).has_two_buckets else SLOW_SHARE) - 1
    assert int(burst) >= 2 * Shape(up).gso_bytes


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (10**8, "tbf rate 99000000bit limit 1250000b burst 6200b"),
        (10**9, "tbf rate 1000000000bit limit 4194304b burst 250000b peakrate 1020000000bit mtu 6750b"),
    ],
)
def test_the_words_for_tc(rate: int, words: str) -> None:
    assert Shape(rate).words() == words

"""Rates and times are read as people write them, or refused in a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laconic.core.errors import UsageError
from laconic.lab.rate import FASTEST, SLOWEST, parse_percent, parse_rate, parse_seconds, rate_text


@pytest.mark.parametrize(
    ("text", "bits"), [("100mbit", 10**8), ("1gbit", 10**9), ("1.5 Gbit", 1_500_000_000), ("64kbit", 64_000)]
)
def test_a_rate_is_bits_per_second(text: str, bits: int) -> None:
    assert parse_rate(text) == bits


@given(st.integers(SLOWEST, FASTEST))
def test_a_rate_survives_being_written(rate: int) -> None:
    assert parse_rate(rate_text(rate)) == pytest.approx(rate, rel=1e-9)  # ten digits are written


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("100", "is not a rate"),
        ("fast", "needs a number"),
        ("100mbps", "could mean bits or bytes"),
        ("-1mbit", "needs a number"),
        ("1bit", "must lie between 8kbit and 100gbit"),
        ("900gbit", "must lie between"),
        ("1e9bit", "is not"),
    ],
)
def test_what_is_no_rate_says_why(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse_rate(text)


def test_times_and_shares_need_their_unit() -> None:
    assert parse_seconds("20ms") == pytest.approx(0.02)
    assert parse_percent("0.1%") == pytest.approx(0.001)
    for parse, text in ((parse_seconds, "20"), (parse_seconds, "2h"), (parse_seconds, "90s"), (parse_percent, "0.1")):
        with pytest.raises(UsageError):
            parse(text)
    with pytest.raises(UsageError, match="below 100"):
        parse_percent("100%")

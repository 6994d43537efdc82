from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laconic.core.errors import PlanError
from laconic.core.units import bytes_text, parse_bytes, seconds_text


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("25MiB", 26_214_400),
        ("1MiB", 2**20),
        ("1.5 KiB", 1536),
        ("4kb", 4000),
        ("2 GB", 2_000_000_000),
        ("1gib", 2**30),
        ("7", 7),
        ("7b", 7),
        (1024, 1024),
    ],
)
def test_sizes_as_people_write_them(text: str | int, nbytes: int):
    assert parse_bytes(text) == nbytes


@pytest.mark.parametrize("text", ["", "MiB", "-1", "12 parsecs", "1e6", "1,5MB", "4 M i B", "nan"])
def test_what_is_not_a_size_is_refused_with_advice(text: str):
    with pytest.raises(PlanError, match="is not a size"):
        parse_bytes(text)


@pytest.mark.parametrize("text", ["0", 0, "0MiB", "0.5"])
def test_a_size_of_nothing_is_refused(text: str | int):
    with pytest.raises(PlanError, match="less than a byte"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (67_180_000, "67.2 MB"),
        (1.5e9, "1.5 GB"),
        (-2000, "-2 kB"),
        (999_999, "1000 kB"),
    ],
)
def test_sizes_as_people_read_them(n: float, text: str):
    assert bytes_text(n) == text


@pytest.mark.parametrize(
    ("s", "text"),
    [(1.5, "1.5 s"), (120.0, "120 s"), (1234.0, "1234 s"), (0.0123, "12.3 ms"), (4.2e-5, "42 us"), (1e-7, "0.1 us")],
)
def test_times_as_people_read_them(s: float, text: str):
    assert seconds_text(s) == text


@given(st.integers(1, 10**15))
def test_a_printed_size_is_within_half_a_percent(n: int):
    assert abs(parse_bytes(bytes_text(n)) - n) <= 0.005 * n + 1

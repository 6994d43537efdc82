"""Which algorithm for which size, from times put in by hand."""

from __future__ import annotations

import pytest

from laconic.topology.choice import Choice, candidates

TABLE = Choice(
    (1000, 10_000, 100_000),
    (("native", (1.0, 2.0, 4.0)), ("recursive_doubling", (0.5, 1.9, 9.0)), ("ring", (2.0, 2.0, 3.0))),
)


def test_small_tensors_take_few_hops_and_large_ones_few_bytes():
    assert [TABLE.pick(n) for n in (1, 1000, 100_000, 10**9)] == ["recursive_doubling"] * 2 + ["ring"] * 2


def test_the_backend_keeps_what_others_win_by_less_than_a_tenth():
    assert TABLE.time("recursive_doubling", 10_000) < TABLE.time("native", 10_000)
    assert TABLE.pick(10_000) == "native"


def test_times_lie_on_straight_lines():
    assert TABLE.time("native", 5500) == pytest.approx(1.5)
    assert TABLE.time("ring", 190_000) == pytest.approx(4.0)
    assert TABLE.time("ring", 1) == 2.0
    assert Choice((8,), (("ring", (3.0,)),)).time("ring", 10**6) == 3.0


def test_the_table_is_told_in_words():
    said = str(TABLE)
    assert said.startswith("recursive_doubling up to about ")
    assert ", then native up to about " in said
    assert said.endswith(", then ring")


def test_shapes_need_enough_ranks():
    assert candidates(2) == candidates(4)
    assert "double_tree" in candidates(5)
    assert "torus" not in candidates(5)
    assert "torus" in candidates(6)

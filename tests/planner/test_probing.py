from __future__ import annotations

import pytest

from laconic.planner.probing import rising


def test_neighbours_that_fall_are_pooled() -> None:
    assert rising([6.0, 9.0, 6.0, 20.0]) == pytest.approx([6.0, 7.5, 7.5, 20.0])
    assert rising([3.0, 2.0, 1.0]) == pytest.approx([2.0, 2.0, 2.0])


def test_what_rises_stays() -> None:
    assert rising([1.0, 1.0, 4.0]) == [1.0, 1.0, 4.0]
    assert rising([]) == []

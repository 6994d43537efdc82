from __future__ import annotations

import pytest

from laconic.core.clock import ManualClock, WallClock


def test_a_manual_clock_stands_still_until_told():
    clock = ManualClock()
    assert clock.now() == clock.now() == 0.0
    clock.advance(1.5)
    assert clock.now() == 1.5


def test_no_clock_runs_backwards():
    with pytest.raises(AssertionError):
        ManualClock().advance(-1)
    wall = WallClock()
    assert wall.now() <= wall.now()

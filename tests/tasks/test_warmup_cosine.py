from __future__ import annotations

import pytest

from laconic.tasks.warmup_cosine import FLOOR, factor


def test_rises_over_a_tenth_and_falls_to_the_floor():
    factors = [factor(step, 100) for step in range(101)]
    assert factors[0] == pytest.approx(0.1)
    assert factors[9] == factors[10] == 1.0
    assert factors[10:] == sorted(factors[10:], reverse=True)
    assert factors[100] == pytest.approx(FLOOR)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_tiny_runs_have_a_learning_rate_too(steps: int):
    assert all(FLOOR <= factor(step, steps) <= 1 for step in range(steps + 1))

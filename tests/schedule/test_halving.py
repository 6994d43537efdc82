"""Successive halving: the fastest is left, what is in use stays unless it is beaten."""

from __future__ import annotations

import pytest

from laconic.schedule.halving import Halving


def _run(speeds: list[float], window: int = 2) -> tuple[Halving, list[int]]:
    trial, ran = Halving(len(speeds), window=window), []
    for _ in range(10_000):
        if trial.full:
            if trial.judge(trial.mine()):
                return trial, ran
            continue
        ran.append(trial.current)
        trial.step(speeds[trial.current])
    raise AssertionError("no end")


@pytest.mark.parametrize("best", range(5))
def test_the_fastest_is_left(best: int):
    speeds = [2.0] * 5
    speeds[best] = 1.0
    assert _run(speeds)[0].alive == [best]


def test_what_is_in_use_stays_if_nothing_is_faster():
    assert _run([1.0, 1.0])[0].alive == [0]
    assert _run([1.0, 1.1, 1.2])[0].alive == [0]


def test_a_gain_within_the_noise_of_a_few_steps_is_none():
    assert _run([1.0, 0.98])[0].alive == [0]
    assert _run([1.0, 0.95])[0].alive == [1]


def test_an_a_b_test_takes_turns():
    _, ran = _run([1.0, 2.0], window=2)
    assert ran == [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]  # the first of each turn does not count


def test_survivors_run_longer():
    _, ran = _run([1.0, 2.0, 3.0, 4.0], window=1)
    assert ran.count(3) == 2 * (1 + 1)
    assert ran.count(0) == 2 * (1 + 1) + 2 * (1 + 2)


def test_the_first_step_of_a_turn_does_not_count():
    trial = Halving(2, window=2)
    for number in (0, 1, 0, 1):
        assert trial.current == number
        trial.step(1000.0 if number == 0 else 1.0)  # thrown away
        trial.step(1.0 + number)
        trial.step(1.0 + number)
    assert trial.mine() == [1.0, 2.0]

"""Asynchronous and stale synchronous workers, small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pytest

from laconic.sim.network import Line, Network
from laconic.sim.race import race

FAST = Network(Line(0.0, 0.0))


def test_nobody_waits_for_a_slow_worker_when_asynchronous() -> None:
    seconds = np.ones((10, 4))
    seconds[:, 3] = 5.0
    assert race(seconds, 0.0, FAST).tolist() == [10.0, 10.0, 10.0, 50.0]


@pytest.mark.parametrize(("staleness", "fast"), [(0, 46.0), (3, 31.0), (9, 10.0)])
def test_stale_synchronous_workers_wait_for_the_slowest_within_their_bound(staleness: int, fast: float) -> None:
    """With s = 0 the last step begins when the slow one has done nine; each more of staleness saves five seconds."""
    seconds = np.ones((10, 3))
    seconds[:, 2] = 5.0
    assert race(seconds, 0.0, FAST, staleness=staleness)[0] == pytest.approx(fast)


def test_a_single_server_serves_one_at_a_time() -> None:
    """n workers at once: each message waits for those before it; pulls go on beside pushes."""
    one = race(np.zeros((1, 4)), 1.0, Network(Line(1.0, 1.0)))
    assert sorted(one.tolist()) == [4.0, 6.0, 8.0, 10.0]
    shared = race(np.zeros((1, 4)), 1.0, Network(Line(1.0, 1.0)), servers=4)
    assert max(shared) < 10.0


def test_many_workers_are_raced() -> None:
    draws = np.random.default_rng(0).exponential(1.0, (5, 300))
    loose, strict = (race(draws, 1e3, Network(Line(1e-5, 1e-9)), 4, s).mean() for s in (None, 0))
    assert loose < strict

"""Asynchronous and stale synchronous workers, small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pytest

from laconic.sim.network import Line, Network
from laconic.sim.race import race
from laconic.sim.taking import InRounds, InTurn

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


def test_a_server_beside_its_worker_shares_its_line() -> None:
    """Two workers, each with a server: half an update over, half of another back, on the same lines."""
    seen = race(np.zeros((1, 2)), 2.0, Network(Line(1.0, 1.0)), 2, hosts=[0, 1])
    assert seen.tolist() == [4.0, 4.0]


def test_updates_in_turn_make_the_ring_as_slow_as_its_slowest_worker() -> None:
    seconds = np.ones((10, 4))
    seconds[:, 3] = 5.0
    assert race(seconds, 0.0, FAST, taking=InTurn(4)).tolist() == [45.0, 45.0, 45.0, 50.0]  # the ninth of the slow one


def test_the_slowest_of_a_round_is_not_waited_for_where_there_is_a_backup() -> None:
    seconds = np.ones((10, 4))
    seconds[:, 3] = 5.0
    assert sorted(race(seconds, 0.0, FAST, taking=InRounds(4, 1)))[2] == 10.0
    assert sorted(race(seconds, 0.0, FAST, taking=InRounds(4, 0)))[2] == 50.0


def test_what_is_read_back_may_be_longer_than_what_was_said() -> None:
    seen = race(np.zeros((1, 1)), 1.0, Network(Line(0.0, 1.0)), reply_bytes=5.0)
    assert seen.tolist() == [6.0]


def test_servers_live_in_the_last_region_of_workers() -> None:
    """Two workers and eight servers: who is in their region pays nothing, the other a second for each push; a reply
    comes while the next leaves."""
    regions = Network(Line(0.0, 0.0), regions=2, across=Line(1.0, 0.0))
    assert race(np.array([[9.0, 0.0]]), 0.0, regions, servers=8).tolist() == [9.0 + 9.0, 0.0]


def test_a_server_beside_its_worker_lives_in_its_region() -> None:
    """Two workers, each with a server, in a region each: whoever reaches the other's crosses twice."""
    regions = Network(Line(0.0, 0.0), regions=2, across=Line(1.0, 0.0))
    assert race(np.zeros((1, 2)), 0.0, regions, 2, hosts=[0, 1]).tolist() == [2.0, 2.0]

from __future__ import annotations

from types import SimpleNamespace

import pytest

from laconic.tasks.meter import WARMUP_STEPS, Meter


class FakeReplica:
    def __init__(self) -> None:
        self.stats = SimpleNamespace(wire_bytes=100, dense_bytes=1000, exposed_wait_s=0.0, tx_bytes=None)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_warm_up_and_evaluation_are_not_timed():
    replica, clock = FakeReplica(), Clock()
    meter = Meter(replica, clock)  # type: ignore[arg-type]
    for step_s in [100.0] * WARMUP_STEPS + [1.0, 2.0, 3.0, 2.0, 2.0]:
        with meter.step():
            clock.now += step_s
            replica.stats.exposed_wait_s += 0.5
        clock.now += 1000  # an evaluation
        replica.stats.exposed_wait_s += 1000
    timings = meter.timings()
    assert timings["step_s_median"] == 2.0
    assert timings["step_s"] == {"min": 1.0, "mean": 2.0, "max": 3.0}
    assert timings["exposed_wait_s_per_step"] == pytest.approx(0.5)


def test_bytes_count_from_the_beginning_of_training():
    replica = FakeReplica()
    meter = Meter(replica)  # type: ignore[arg-type]
    replica.stats.wire_bytes += 7
    replica.stats.dense_bytes += 70
    assert meter.bytes_so_far() == (7, 70)


def test_an_unknown_wait_stays_unknown():
    replica = FakeReplica()
    replica.stats.exposed_wait_s = None
    meter = Meter(replica)  # type: ignore[arg-type]
    with meter.step():
        pass
    assert meter.timings()["exposed_wait_s_per_step"] is None


def test_the_interface_is_read_around_each_step_so_that_evaluations_do_not_count():
    replica = FakeReplica()
    meter = Meter(replica)  # type: ignore[arg-type]
    assert meter.tx_bytes is None
    replica.stats.tx_bytes = 1000
    for _ in range(2):
        with meter.step():
            replica.stats.tx_bytes += 10
        replica.stats.tx_bytes += 5000  # an evaluation
    assert meter.tx_bytes == 20

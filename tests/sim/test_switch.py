"""Survey 003's worked examples, in its own units."""

from __future__ import annotations

import pytest

from laconic.sim import closed, patterns
from laconic.sim.kernel import Kernel
from laconic.sim.network import Line, Network
from laconic.sim.play import play, rotated
from laconic.sim.switch import Switch
from laconic.topology.programs import build

UNITS = Network(Line(1.5, 5.0))  # latency 1.5; 5 units of time a MB


def test_events_of_one_moment_run_in_the_order_they_were_asked_for() -> None:
    kernel, seen = Kernel(), []
    kernel.at(2.0, lambda: seen.append("second"))
    kernel.at(1.0, lambda: seen.append("first"))
    kernel.at(2.0, lambda: seen.append("last"), rank=1)
    kernel.at(2.0, lambda: seen.append("third"))
    assert kernel.run() == 2.0
    assert seen == ["first", "second", "third", "last"]


@pytest.mark.parametrize(("megabytes", "units"), [(1.0, 14.0), (0.5, 9.0)])
def test_three_messages_take_14_units_and_9_at_half_the_size(megabytes: float, units: float) -> None:
    """Examples 1.1 and 1.2: M1 -> M2 at 5, M2 -> M1 and M3 -> M1 at 6; the last waits for M1's receiving side."""
    kernel = Kernel()
    switch = Switch(kernel, UNITS, 3)
    for when, source, target in ((5.0, 0, 1), (6.0, 1, 0), (6.0, 2, 0)):
        kernel.at(when, lambda s=source, t=target: switch.send(s, t, megabytes, lambda: None))
    assert kernel.run() - 5.0 == pytest.approx(units)
    assert switch.passed[-1].start == pytest.approx(switch.passed[1].end)


def test_a_synchronous_server_takes_2n_messages_one_after_the_other() -> None:
    """Section 1.3.2, three workers."""
    assert play(patterns.star(3, 1, 1), UNITS, 1).seconds == pytest.approx(2 * 3 * 6.5)


def test_ring_all_reduce_follows_the_survey_s_table_of_events() -> None:
    """Example 1.3: four workers, six times t; in each everyone sends and receives one quarter."""
    played = play([build("ring", r, 4, 4) for r in range(4)], UNITS, 1)
    t = 1.5 + 5.0
    assert played.seconds == pytest.approx(6 * t)
    for step in range(6):
        now = [m for m in played.messages if m.start == pytest.approx(step * t)]
        assert sorted(m.source for m in now) == sorted(m.target for m in now) == [0, 1, 2, 3]


def test_servers_beside_workers_take_as_long_as_the_ring() -> None:
    """Example 1.4: everyone owns a quarter."""
    played = play(rotated([build("sra", r, 4, 4) for r in range(4)]), UNITS, 1)
    assert played.seconds == pytest.approx(6 * 6.5)
    assert played.seconds == pytest.approx(closed.beside_s(4, 4, UNITS.line))


def test_without_partitions_a_ring_passes_whole_vectors() -> None:
    """Section 1.3.3: 2N(latency + transfer) among N + 1 workers."""
    assert play(patterns.chain(4, 4), UNITS, 1).seconds == pytest.approx(2 * 3 * (1.5 + 4 * 5.0))


def test_a_late_worker_holds_up_those_who_need_it() -> None:
    played = play([build("ring", r, 2, 2) for r in range(2)], UNITS, 1, ready=[0.0, 10.0])
    assert played.finished == (pytest.approx(10 + 2 * 6.5),) * 2


def test_adding_up_costs_gamma_a_byte() -> None:
    line = [build("ring", r, 2, 2) for r in range(2)]
    assert play(line, UNITS, 1, gamma_s=0.25).seconds == pytest.approx(2 * 6.5 + 0.25)

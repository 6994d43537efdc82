"""Closed forms agree with the player, message by message; survey 000's table III and survey 003's table 1.1."""

from __future__ import annotations

import math

import numpy as np
import pytest

from laconic.sim import closed, patterns
from laconic.sim.network import Line, Network, parse_line
from laconic.sim.play import play, rotated
from laconic.sim.race import race
from laconic.sim.waves import lined, ride, wired
from laconic.topology.programs import ANY, NAMES, build

LINE = Line(3.0, 0.25)
NET = Network(LINE)
SIZE = 5040  # bytes; divides by 2 .. 10
WORLDS = (1, 2, 3, 4, 5, 6, 8)


def played(name: str, world: int, network: Network = NET) -> float:
    return play(rotated([build(name, r, world, SIZE) for r in range(world)]), network, 1).seconds


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", [n for n in NAMES if n not in closed.WITHOUT])
def test_an_all_reduce_takes_what_its_closed_form_says(name: str, world: int) -> None:
    assert played(name, world) == pytest.approx(closed.all_reduce_s(name, world, SIZE, LINE), rel=1e-3)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", [n for n in NAMES if n not in closed.WITHOUT])
def test_adding_up_takes_what_the_closed_form_says(name: str, world: int) -> None:
    programs = rotated([build(name, r, world, SIZE) for r in range(world)])
    seen = play(programs, NET, 1, gamma_s=0.125).seconds
    assert seen == pytest.approx(closed.all_reduce_s(name, world, SIZE, LINE, gamma_s=0.125), rel=1e-3)  # folds round


def test_a_ring_of_four_adds_three_quarters_by_hand() -> None:
    """2(n-1) a + 2(n-1)/n m b + (n-1)/n m g."""
    seen = closed.all_reduce_s("ring", 4, 1000, Line(2.0, 0.1), gamma_s=0.01)
    assert seen == pytest.approx(6 * 2.0 + 1500 * 0.1 + 750 * 0.01)


@pytest.mark.parametrize("world", [2, 4, 8, 16])
def test_table_iii_of_survey_000(world: int) -> None:
    """Latency and bandwidth of binary tree, recursive doubling and ring, one by one."""
    log, n, m = math.log2(world), world, SIZE
    table = {
        "tree": (2 * log, 2 * log * m),
        "recursive_doubling": (log, log * m),
        "ring": (2 * (n - 1), 2 * (n - 1) / n * m),
    }
    for name, (latency, bandwidth) in table.items():
        assert played(name, world, Network(Line(1.0, 0.0))) == pytest.approx(latency)
        assert played(name, world, Network(Line(0.0, 1.0))) == pytest.approx(bandwidth)


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("servers", [1, 2, 3, 4])
def test_servers_take_what_their_closed_form_says(workers: int, servers: int) -> None:
    size = 12 * 24
    seen = play(patterns.star(workers, servers, size), NET, 1).seconds
    assert seen == pytest.approx(closed.star_s(workers, servers, size, LINE))


@pytest.mark.parametrize("world", WORLDS)
def test_gather_deal_and_chain_take_what_their_closed_forms_say(world: int) -> None:
    assert play(patterns.everyone(world, 10), NET, 1).seconds == pytest.approx(closed.gather_s(world, 10, LINE))
    assert play(patterns.parcels(world, 10), NET, 1).seconds == pytest.approx(closed.deal_s(world, 10, LINE))
    assert play(patterns.chain(world, 10), NET, 1).seconds == pytest.approx(closed.chain_s(world, 10, LINE))


@pytest.mark.parametrize("world", [4, 8, 16])
def test_table_1_1_of_survey_003_counts_a_step(world: int) -> None:
    """O(N alpha + beta), O(N alpha + eta beta), O(deg (alpha + beta)): the constants are the closed forms'."""
    alpha, beta = Network(Line(1.0, 0.0)), Network(Line(0.0, 1.0))
    assert played("ring", world, alpha) == 2 * (world - 1)
    assert played("ring", world, beta) < 2 * SIZE
    eta = 0.1  # compressed by ten: latency stays, transfer shrinks
    small = play([build("ring", r, world, int(SIZE * eta)) for r in range(world)], NET, 1).seconds
    assert small == pytest.approx(2 * (world - 1) * 3.0 + eta * 2 * (world - 1) / world * SIZE * 0.25, rel=0.02)
    ring = [[(r - 1) % world, (r + 1) % world] for r in range(world)]  # gossip: degree 2 whatever N
    assert play(rotated(patterns.neighbours(ring, SIZE)), NET, 1).seconds == pytest.approx(
        closed.gossip_s(2, SIZE, LINE)
    )


def an_iteration_s(world: int, servers: int, network: Network, hosts: list[int] | None = None) -> float:
    """Of asynchronous workers that compute nothing: one update each; what the first ones take is left out."""
    ten, twenty = (race(np.zeros((k, world)), SIZE, network, servers, hosts=hosts).max() for k in (10, 20))
    return float(twenty - ten) / 10


@pytest.mark.parametrize("world", [2, 4, 8, 16])
def test_table_1_1_of_survey_003_counts_an_asynchronous_iteration(world: int) -> None:
    """ASGD, O(N alpha + beta), is of as many servers as workers; a single one makes O(N alpha + N beta) of it."""
    shared = (world + 1) * LINE.seconds(SIZE / world)
    assert an_iteration_s(world, world, NET) == pytest.approx(shared)
    beside = closed.beside_s(world, SIZE, LINE)
    assert an_iteration_s(world, world, NET, list(range(world))) == pytest.approx(beside)
    assert an_iteration_s(world, 1, NET) == pytest.approx(world * LINE.seconds(SIZE))
    for seconds in (shared, beside):
        assert seconds <= 2 * (world * LINE.alpha_s + SIZE * LINE.beta_s)


@pytest.mark.parametrize("name", ["ring", "torus", "recursive_doubling", "halving_doubling", "tree", "blueconnect"])
@pytest.mark.parametrize("world", [2, 3, 6, 8])
def test_waves_find_what_the_player_finds_also_on_unequal_lines(name: str, world: int) -> None:
    uneven = Network(LINE, {1: 0.9, 4: 0.4}, 2, Line(17.0, 0.7))
    for network in (NET, uneven):
        rounds = wired(name, world, ANY)
        assert rounds is not None
        seen = float(np.max(ride(lined(rounds, network, world), world, SIZE)))
        assert seen == pytest.approx(played(name, world, network), rel=2e-3)


def test_a_ring_is_as_slow_as_its_slowest_hop() -> None:
    uneven = Network(LINE, {2: 0.9})
    assert played("ring", 6, uneven) == pytest.approx(10 * (3.0 + SIZE / 6 * 0.9))


def test_programs_whose_messages_meet_are_left_to_the_player() -> None:
    assert wired("sra", 4, ANY) is None


def test_lines_are_read_as_people_write_them() -> None:
    line = parse_line("10gbit:50us")
    assert (line.alpha_s, line.beta_s) == (pytest.approx(50e-6), pytest.approx(0.8e-9))
    assert str(line) == "10gbit:50us"

"""Servers that answer while they are told, against the player in ever more pieces."""

from __future__ import annotations

import pytest

from laconic.sim import closed, patterns
from laconic.sim.closed_servers import byteps_s, byteps_shares, sharded_s
from laconic.sim.network import Line, Network
from laconic.sim.play import play
from laconic.topology.programs import Program, Receive, Round, Send, fault, tally

LINE = Line(0.0, 0.25)


def streamed(owners: dict[int, int], workers: int, pieces: int) -> list[Program]:
    """Round t: a piece of every share to its owner, and the sum of the one before back. `owners`: bytes of a piece.
    Worker w begins with owner w, owner i with worker i, as in `patterns.star`."""
    ranks, start = max(workers, *(o + 1 for o in owners)), 0
    rows: list[list[tuple[dict[Send, int], list[Receive]]]]
    rows = [[({}, []) for _ in range(pieces + 1)] for _ in range(ranks)]
    for i, (owner, size) in enumerate(owners.items()):
        for w in (w for w in range(workers) if w != owner and size):
            for t in range(pieces):
                piece = start + t * size, start + (t + 1) * size
                rows[w][t][0][Send(owner, *piece)] = (i - w) % len(owners)
                rows[owner][t][1].append(Receive(w, *piece, True))
                rows[owner][t + 1][0][Send(w, *piece)] = (w - i) % workers
                rows[w][t + 1][1].append(Receive(owner, *piece, False))
        start += pieces * size
    return [tuple(Round(tuple(sorted(s, key=s.__getitem__)), tuple(x)) for s, x in row) for row in rows]


@pytest.mark.parametrize(("workers", "servers"), [(2, 1), (4, 1), (4, 2), (6, 3), (4, 4), (2, 4), (5, 3), (3, 8)])
@pytest.mark.parametrize("pieces", [1, 4, 16])
def test_sharded_servers_are_what_pieces_come_to(workers: int, servers: int, pieces: int) -> None:
    size = 120 * pieces
    programs = streamed({workers + s: size // servers // pieces for s in range(servers)}, workers, pieces)
    assert fault(programs) is None
    seen = play(programs, Network(LINE), 1).seconds
    endless = sharded_s(workers, servers, size, LINE, LINE.beta_s)
    assert seen == pytest.approx((1 + 1 / pieces) * endless)
    assert seen == pytest.approx(closed.pieces_s(workers, servers, size, LINE, pieces))


@pytest.mark.parametrize(("workers", "servers"), [(4, 1), (6, 2), (3, 3)])
def test_without_answers_on_the_way_it_takes_twice_as_long(workers: int, servers: int) -> None:
    """On servers' own, slower lines, which all pushes wait for, and adding up n/p of the bytes."""
    slow = Network(LINE, {workers + s: 0.75 for s in range(servers)})
    seen = play(patterns.star(workers, servers, 1200), slow, 1, gamma_s=0.125).seconds
    through = sharded_s(workers, servers, 1200, LINE, 0.75)
    adding = sharded_s(workers, servers, 1200, LINE, 0.75, gamma_s=0.125) - through
    assert seen == pytest.approx(2 * through + adding)


def test_the_switch_hears_one_worker_at_a_time_even_where_servers_are_faster() -> None:
    fast = Network(LINE, {4 + s: 0.0625 for s in range(2)})
    seen = play(patterns.star(4, 2, 1200), fast, 1).seconds
    assert seen == pytest.approx(2 * sharded_s(4, 2, 1200, LINE, LINE.beta_s))
    assert sharded_s(4, 2, 1200, LINE, 0.0625) == pytest.approx(1200 * 0.25)  # both servers hear two at once


def test_sharded_servers_by_hand() -> None:
    """2a + max(m b_w, n/p m b_s) + n/p m g: eight workers, two servers with lines four times as fast, and ten times."""
    line = Line(3.0, 0.4)
    assert sharded_s(8, 2, 1000, line, 0.1, gamma_s=0.01) == pytest.approx(6.0 + 400 + 40)
    assert sharded_s(8, 2, 1000, line, 0.04) == pytest.approx(6.0 + 400)
    assert sharded_s(8, 2, 1000, line, 0.4) == pytest.approx(6.0 + 1600)
    assert sharded_s(8, 8, 1000, line, 0.4) == pytest.approx(6.0 + 400)  # SwitchML: once each way


CLUSTERS = [(n, k) for n in (2, 3, 4, 6, 8) for k in range(n + 1)]


@pytest.mark.parametrize(("workers", "spare"), CLUSTERS)
def test_byteps_fills_every_line_and_no_other_shares_are_faster(workers: int, spare: int) -> None:
    spares, own = byteps_shares(workers, spare)
    assert spare * spares + workers * own == pytest.approx(1)
    best = byteps_s(workers, spare, 1.0, 1.0)
    for tenth in range(11):
        other = tenth / 10 / workers
        left = (1 - workers * other) / spare if spare else 0.0
        if spare or tenth == 10:
            assert max(1 - other + (workers - 1) * other, workers * left) >= best - 1e-12


@pytest.mark.parametrize(("workers", "spare"), CLUSTERS)
def test_byteps_carries_what_its_optimum_says(workers: int, spare: int) -> None:
    """The busiest line exactly. Unequal messages leave gaps on the switch: it is never faster, with 16 pieces at most
    1.4 times as slow, and exact where all are equal (no spare host; as many as workers, 1 + 1/16)."""
    pieces, total = 16, workers * workers + spare * workers - 2 * spare
    size = 8 * total * pieces
    shares = byteps_shares(workers, spare)
    owners = {workers + s: round(shares.spare * size / pieces) for s in range(spare)}
    owners |= {w: round(shares.worker * size / pieces) for w in range(workers)}
    programs = streamed(owners, workers, pieces)
    assert fault(programs) is None
    best = byteps_s(workers, spare, size, 1.0)
    assert tally(programs).busiest == pytest.approx(best)
    seen = play(programs, Network(Line(0.0, 1.0)), 1).seconds
    assert best - 1e-6 <= seen <= 1.4 * best
    if spare in (0, workers):
        assert seen == pytest.approx(best * (1 if spare == 0 else 1 + 1 / pieces))


def test_byteps_at_both_ends_and_in_between_by_hand() -> None:
    """2n(n-1) m / ((n^2 + kn - 2k) B): four hosts, two spare ones: 24/20."""
    assert byteps_shares(4, 2) == pytest.approx((6 / 20, 2 / 20))
    assert byteps_s(4, 2, 1000, 0.5) == pytest.approx(24 / 20 * 1000 * 0.5)
    assert byteps_s(4, 0, 1000, 0.5) == pytest.approx(closed.beside_s(4, 1000, Line(0.0, 0.5)))
    assert byteps_s(4, 4, 1000, 0.5) == byteps_s(4, 9, 1000, 0.5) == pytest.approx(1000 * 0.5)
    assert byteps_s(1, 1, 1000, 0.5) == 0

"""A tree that hands on pieces takes what the player finds."""

from __future__ import annotations

import pytest

from laconic.sim import closed
from laconic.sim.closed_pipeline import best_pieces, climb_s
from laconic.sim.network import Line, Network
from laconic.sim.play import play
from laconic.topology.programs.hop import Program, Receive, Round, Send, fault

LINE = Line(3.0, 0.25)


@pytest.mark.parametrize("children", [1, 2, 3])
@pytest.mark.parametrize("height", [1, 2, 3, 4])
@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_a_tree_takes_what_its_closed_form_says(children: int, height: int, pieces: int) -> None:
    programs = tree(height, children, pieces, 10)
    assert fault(programs) is None
    seen = play(programs, Network(LINE), 1).seconds
    assert seen == pytest.approx(climb_s(height, 10 * pieces, LINE, pieces, children))


def tree(height: int, children: int, pieces: int, size: int) -> list[Program]:
    """Numbered level by level; piece c leaves depth d in round c + height - d, and comes down to it in round c + d."""
    ranks = sum(children**i for i in range(height + 1))
    above = [(r - 1) // children for r in range(ranks)]  # of rank 0: nobody
    depth = [0] * ranks
    for r in range(1, ranks):
        depth[r] = depth[above[r]] + 1
    rounds = height + pieces - 1
    rows: list[list[tuple[list[Send], list[Receive]]]] = [[([], []) for _ in range(2 * rounds)] for _ in range(ranks)]
    for r in range(1, ranks):
        for c in range(pieces):
            piece = c * size, (c + 1) * size
            up, down = c + height - depth[r], rounds + c + depth[r] - 1
            rows[r][up][0].append(Send(above[r], *piece))
            rows[above[r]][up][1].append(Receive(r, *piece, True))
            rows[above[r]][down][0].append(Send(r, *piece))
            rows[r][down][1].append(Receive(above[r], *piece, False))
    return [tuple(Round(tuple(sends), tuple(receives)) for sends, receives in row) for row in rows]


def test_one_piece_is_the_tree_of_the_tables() -> None:
    """Of eight ranks, binomial: an inner rank hears its children in different rounds."""
    assert climb_s(3, 5040, LINE, 1) == pytest.approx(closed.all_reduce_s("tree", 8, 5040, LINE))


def test_pieces_of_a_tree_by_hand() -> None:
    """2 (log2 n + k - 1)(a + m b / k), n = 16, k = 5; k* = sqrt(3 * 5040 * 0.25 / 3) = 35.5."""
    assert climb_s(4, 1000, LINE, 5) == pytest.approx(2 * 8 * (3.0 + 200 * 0.25))
    assert best_pieces(4, 5040, LINE) in (35, 36)


@pytest.mark.parametrize(("height", "nbytes", "alpha"), [(1, 500, 3.0), (3, 500, 3.0), (5, 900, 0.1), (4, 50, 0.0)])
def test_no_other_number_of_pieces_is_better(height: int, nbytes: int, alpha: float) -> None:
    line = Line(alpha, 0.25)
    best = best_pieces(height, nbytes, line)
    for pieces in range(1, nbytes + 1):
        assert climb_s(height, nbytes, line, best) <= climb_s(height, nbytes, line, pieces) + 1e-9

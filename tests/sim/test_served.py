"""What steps pay for servers is what the switch takes."""

from __future__ import annotations

import pytest

from laconic.drive.asked import Asked, Kind
from laconic.drive.wiring import PIECE_BYTES, SMALL_BYTES
from laconic.sim import closed, patterns
from laconic.sim.network import Line, Network
from laconic.sim.play import play
from laconic.sim.served import served
from laconic.topology import ParameterServer
from laconic.topology.programs.hop import Program, Receive, Round, Send

LINE = Line(3.0, 0.25)


def servers(k: int) -> ParameterServer:
    return ParameterServer(servers=k)


@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_sum_in_one_piece_is_the_star_of_the_switch(n: int, k: int) -> None:
    size = k * PIECE_BYTES
    wire = served(Asked(Kind.REDUCE, size), servers(k), n, LINE)
    assert wire.seconds == pytest.approx(play(patterns.star(n, k, size), Network(LINE), 1).seconds)
    assert wire.seconds == pytest.approx(closed.star_s(n, k, size, LINE))
    assert wire.latency_s == 2 * max(n, k) * LINE.alpha_s


@pytest.mark.parametrize("n", [2, 4, 6])
@pytest.mark.parametrize("pieces", [1, 2, 5])
def test_pieces_come_back_while_more_leave(n: int, pieces: int) -> None:
    """One server, no latency: the player pushes piece t while piece t - 1 is pulled."""
    size = pieces * PIECE_BYTES
    wire = served(Asked(Kind.REDUCE, size), servers(1), n, Line(0.0, 0.25))
    seen = play(streamed(n, size, pieces), Network(Line(0.0, 0.25)), 1).seconds
    assert wire.line_s == pytest.approx(seen)


def streamed(n: int, size: int, pieces: int) -> list[Program]:
    """Of worker w, and of the server, which is rank n: round t pushes piece t and pulls piece t - 1."""
    cuts = [(t * size // pieces, (t + 1) * size // pieces) for t in range(pieces)]
    worker: list[Round] = []
    server: list[Round] = []
    for t in range(pieces + 1):
        up, down = cuts[t : t + 1], cuts[t - 1 : t] if t else []
        worker.append(Round(tuple(Send(n, *c) for c in up), tuple(Receive(n, *c, False) for c in down)))
        server.append(
            Round(
                tuple(Send(w, *c) for c in down for w in range(n)),
                tuple(Receive(w, *c, True) for c in up for w in range(n)),
            )
        )
    return [*([tuple(worker)] * n), tuple(server)]


def test_a_small_sum_goes_to_one_server() -> None:
    wire = served(Asked(Kind.REDUCE, SMALL_BYTES), servers(4), 3, LINE)
    assert wire.seconds == pytest.approx(closed.star_s(3, 1, SMALL_BYTES, LINE))


@pytest.mark.parametrize("chunks", [1, 3])
def test_packed_messages_wait_for_all_pushes(chunks: int) -> None:
    size = 6000
    wire = served(Asked(Kind.SERVE, size, chunks), servers(3), 5, LINE)
    assert wire.seconds == pytest.approx(play(patterns.star(5, chunks, size), Network(LINE), 1).seconds)


def test_servers_beside_workers_cost_what_their_closed_form_says() -> None:
    wire = served(Asked(Kind.REDUCE, 5040), ParameterServer("colocated"), 6, LINE)
    assert wire.seconds == pytest.approx(closed.beside_s(6, 5040, LINE))


def test_a_tree_passes_one_vector_up_and_down() -> None:
    """Four workers, two leaves, a root, one piece: two and two messages up, as many down."""
    wire = served(Asked(Kind.REDUCE, 1000), ParameterServer("tree", 3), 4, LINE)
    assert wire.seconds == pytest.approx(8 * LINE.seconds(1000))
    large = served(Asked(Kind.REDUCE, 1000 * PIECE_BYTES), ParameterServer("tree", 3), 4, LINE)
    assert large.line_s == pytest.approx(
        3 * 1000 * PIECE_BYTES * LINE.beta_s, rel=0.01
    )  # a leaf hears two and the root

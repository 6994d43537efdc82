"""What steps pay for servers is what the switch takes."""

from __future__ import annotations

import numpy as np
import pytest

from laconic.drive.asked import Asked, Kind
from laconic.drive.wiring import PIECE_BYTES, SMALL_BYTES
from laconic.sim import closed, patterns
from laconic.sim.network import Line, Network
from laconic.sim.play import play
from laconic.sim.race import race
from laconic.sim.served import served, updated
from laconic.topology import ParameterServer
from laconic.topology.programs.hop import Program, Receive, Round, Send

LINE = Line(3.0, 0.25)
BESIDE = ParameterServer("colocated")


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
    size = 6 * SMALL_BYTES
    wire = served(Asked(Kind.REDUCE, size), BESIDE, 6, LINE)
    assert wire.seconds == pytest.approx(closed.beside_s(6, size, LINE))
    assert served(Asked(Kind.REDUCE, 600), BESIDE, 6, LINE).seconds == pytest.approx(10 * LINE.seconds(600))  # one host


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("k", [1, 2])
def test_a_gathered_message_is_handed_on_to_everyone_else(n: int, k: int) -> None:
    """The server of a share hears one worker while it tells all others what it has heard of the one before."""
    size = k * SMALL_BYTES * 2 if k > 1 else 600
    wire = served(Asked(Kind.GATHER, size), servers(k), n, LINE)
    seen = play(gathered(n, k, size), Network(LINE), 1).seconds
    assert wire.seconds == pytest.approx(seen)
    assert (wire.sent, wire.messages) == (size, k)


def gathered(n: int, k: int, size: int) -> list[Program]:
    """Round t: server s hears worker s + t, and tells all others what worker s + t - 1 has said."""
    share = size // k
    out = [[Round((), ())] * (n + 1) for _ in range(n + k)]
    for t in range(n + 1):
        rounds: list[tuple[list[Send], list[Receive]]] = [([], []) for _ in range(n + k)]
        for s in range(k):
            one, before, server = (s + t) % n, (s + t - 1) % n, n + s
            if t < n:
                rounds[one][0].append(Send(server, 0, share))
                rounds[server][1].append(Receive(one, 0, share, False))
            for other in ((before + j) % n for j in range(1, n) if t > 0):
                rounds[server][0].append(Send(other, 0, share))
                rounds[other][1].append(Receive(server, 0, share, False))
        for rank, (sends, receives) in enumerate(rounds):
            out[rank][t] = Round(tuple(sends), tuple(receives))
    return [tuple(rows) for rows in out]


@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 1), (4, 1), (4, 2), (6, 3), (4, 4)])
@pytest.mark.parametrize("kind", [Kind.DEAL, Kind.POST])
def test_a_parcel_goes_through_the_server_of_its_worker(kind: Kind, n: int, k: int) -> None:
    d = n - 1 if kind is Kind.DEAL else 1
    wire = served(Asked(kind, 700, d), servers(k), n, LINE)
    seen = play(handed(n, k, d, 700), Network(LINE), 1).seconds
    assert wire.seconds == pytest.approx(seen)
    assert (wire.sent, wire.messages) == (d * 700, d)


def handed(n: int, k: int, d: int, size: int) -> list[Program]:
    """One parcel at a time: worker w's j-th is for w + j. A server hands on what it heard in the round before."""
    each = n // k
    count = d * each
    rounds: list[list[tuple[list[Send], list[Receive]]]] = [[([], []) for _ in range(count + 1)] for _ in range(n + k)]
    for j in range(1, d + 1):
        for w in range(n):
            to = (w + j) % n
            server, t = n + to % k, (j - 1) * each + to // k
            rounds[w][t][0].append(Send(server, 0, size))
            rounds[server][t][1].append(Receive(w, 0, size, False))
            rounds[server][t + 1][0].append(Send(to, 0, size))
            rounds[to][t + 1][1].append(Receive(server, 0, size, False))
    return [tuple(Round(tuple(sends), tuple(receives)) for sends, receives in row) for row in rounds]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_beside_workers_a_gather_and_a_deal_are_those_of_an_all_reduce(n: int) -> None:
    """A host hands on its own message, and a worker's parcels go to the host of whom they are for."""
    for kind, programs in ((Kind.GATHER, patterns.everyone(n, 700)), (Kind.DEAL, patterns.parcels(n, 700))):
        wire = served(Asked(kind, 700), BESIDE, n, LINE)
        assert wire.seconds == pytest.approx(play(programs, Network(LINE), 1).seconds)
        assert (wire.sent, wire.messages) == ((n - 1) * 700, n - 1)


def test_a_host_counts_what_the_server_beside_it_says() -> None:
    """Four workers: three quarters to others' servers, and its own quarter to three of them."""
    wire = served(Asked(Kind.SERVE, 4000, 4), BESIDE, 4, LINE)
    assert wire.sent == pytest.approx(6000)
    assert wire.seconds == pytest.approx(closed.beside_s(4, 4000, LINE))
    assert served(Asked(Kind.SERVE, 4000, 1), BESIDE, 4, LINE).sent == pytest.approx(6000)  # one of four has 24000


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("heard", [100.0, 600.0, 3000.0])
def test_an_update_is_answered_as_the_race_does(n: int, heard: float) -> None:
    wire = updated(600.0, heard, servers(1), n, LINE)
    seen = race(np.zeros((1, n)), 600.0, Network(LINE), reply_bytes=heard)
    assert wire.seconds == pytest.approx(float(seen.max()))


def test_a_gather_through_servers_of_a_thousand_pays_for_every_message() -> None:
    """A worker alone hears 1,023 messages of 50 us, and the one server says all of them."""
    line = Line(50e-6, 0.0)
    assert served(Asked(Kind.GATHER, 1000), servers(1), 1024, line).seconds > 1023 * 1024 * 50e-6
    assert served(Asked(Kind.GATHER, 1000), BESIDE, 1024, line).seconds == pytest.approx(closed.gather_s(1024, 0, line))


def test_a_tree_passes_one_vector_up_and_down() -> None:
    """Four workers, two leaves, a root, one piece: two and two messages up, as many down."""
    wire = served(Asked(Kind.REDUCE, 1000), ParameterServer("tree", 3), 4, LINE)
    assert wire.seconds == pytest.approx(8 * LINE.seconds(1000))
    large = served(Asked(Kind.REDUCE, 1000 * PIECE_BYTES), ParameterServer("tree", 3), 4, LINE)
    assert large.line_s == pytest.approx(
        3 * 1000 * PIECE_BYTES * LINE.beta_s, rel=0.01
    )  # a leaf hears two and the root

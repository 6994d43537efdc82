from __future__ import annotations

from itertools import pairwise

import pytest

from laconic.drive.wiring import PIECE_BYTES, SMALL_BYTES, Wiring


def wiring(rank: int = 0, world: int = 4, servers: int = 3, **options) -> Wiring:
    return Wiring(rank, world, tuple(f"server/{s}" for s in range(servers)), **options)


@pytest.mark.parametrize("servers", [1, 2, 3, 8])
@pytest.mark.parametrize("numel", [0, 1, SMALL_BYTES // 4, SMALL_BYTES // 4 + 1, 700_001])
def test_pieces_cover_a_tensor_once_and_are_the_same_for_all(numel: int, servers: int):
    orders = [wiring(rank, servers=servers).pieces(numel, 4, 5) for rank in range(4)]
    for pieces in orders:
        assert sorted(pieces) == sorted(orders[0])
        assert sum(p.stop - p.start for p in pieces) == numel
        edges = sorted((p.start, p.stop) for p in pieces)
        assert all(a[1] == b[0] for a, b in pairwise(edges))
        assert all(4 * (p.stop - p.start) <= PIECE_BYTES for p in pieces)
        assert [p.stripe for p in pieces] == sorted(p.stripe for p in pieces)


def test_servers_have_the_same_load():
    pieces = wiring(servers=4).pieces(1_000_000, 4, 0)
    loads = [sum(p.stop - p.start for p in pieces if p.server == s) for s in range(4)]
    assert loads == [250_000] * 4


def test_workers_begin_with_different_servers_and_end_with_their_own():
    for rank in range(4):
        stripe = [p.server for p in wiring(rank, servers=4).pieces(1_000_000, 4, 0) if p.stripe == 0]
        assert stripe[0] == (rank + 1) % 4
        assert stripe[-1] == rank


def test_small_messages_take_turns_between_servers():
    assert [wiring().shares(1, 10, salt)[0].server for salt in range(4)] == [0, 1, 2, 0]
    assert [p.server for p in wiring().shares(1, 10 * SMALL_BYTES, 0)] == [0, 1, 2]
    assert [p.server for p in wiring(servers=4, colocated=True).shares(3, 10, 0)] == [3]
    assert wiring(world=1).shares(0, 10, 0) == []


def test_chunks_fewer_than_servers_start_at_different_ones():
    assert [wiring().keeper(bucket, 0, 1) for bucket in range(4)] == [0, 1, 2, 0]
    assert [wiring().keeper(7, chunk, 3) for chunk in range(3)] == [0, 1, 2]

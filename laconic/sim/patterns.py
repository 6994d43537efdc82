"""What is not an all-reduce, as hop programs too, so that the same player times it.

chain        a ring that passes whole vectors: up 0, 1, ..., n-1 and round again      2(n-1) messages in a row
star         k servers behind n workers: push a share to each, then pull it back      ranks n .. n+k-1 are servers
everyone     all-gather by a ring: each whole message passes all                      n-1 rounds
parcels      all-to-all: one message to each                                          1 round of n-1 messages
neighbours   gossip: my message to all who hear me                                    1 round
"""

from __future__ import annotations

from collections.abc import Sequence

from laconic.topology.programs.hop import IDLE, Program, Receive, Round, Send, chunk


def chain(world: int, numel: int) -> list[Program]:
    """Survey 003's all-reduce without partitions: the sum goes round once, then once more to be told."""
    rounds = 2 * (world - 1)
    rows: list[list[Round]] = [[IDLE] * rounds for _ in range(world)]
    for hop in range(rounds):
        source, target = hop % world, (hop + 1) % world
        rows[source][hop] = Round((Send(target, 0, numel),), ())
        rows[target][hop] = Round((), (Receive(source, 0, numel, hop < world - 1),))
    return [tuple(row) for row in rows]


def star(workers: int, servers: int, numel: int) -> list[Program]:
    """Worker w pushes to server w first, then to the next; servers answer in the same order."""
    shares = [chunk((0, numel), servers, s) for s in range(servers)]
    out: list[Program] = []
    for w in range(workers):
        order = [(w + j) % servers for j in range(servers)]
        push = Round(tuple(Send(workers + s, *shares[s]) for s in order), ())
        pull = Round((), tuple(Receive(workers + s, *shares[s], False) for s in order))
        out.append((push, pull))
    for s in range(servers):
        order = [(s + j) % workers for j in range(workers)]
        push = Round((), tuple(Receive(w, *shares[s], True) for w in order))
        pull = Round(tuple(Send(w, *shares[s]) for w in order), ())
        out.append((push, pull))
    return out


def everyone(world: int, numel: int) -> list[Program]:
    n = world
    return [
        tuple(
            Round(
                (Send((r + 1) % n, (r - s) % n * numel, ((r - s) % n + 1) * numel),),
                (Receive((r - 1) % n, (r - s - 1) % n * numel, ((r - s - 1) % n + 1) * numel, False),),
            )
            for s in range(n - 1)
        )
        for r in range(n)
    ]


def parcels(world: int, numel: int) -> list[Program]:
    """`numel` to each other worker."""
    out: list[Program] = []
    for r in range(world):
        others = [(r + j) % world for j in range(1, world)]
        sends = tuple(Send(o, o * numel, (o + 1) * numel) for o in others)
        receives = tuple(Receive(o, r * numel, (r + 1) * numel, False) for o in others)
        out.append((Round(sends, receives),) if others else ())
    return out


def neighbours(peers: Sequence[Sequence[int]], numel: int) -> list[Program]:
    """`peers[r]`: who hears rank r."""
    sources: list[list[int]] = [[] for _ in peers]
    for r, heard_by in enumerate(peers):
        for p in heard_by:
            sources[p].append(r)
    return [
        (Round(tuple(Send(p, 0, numel) for p in to), tuple(Receive(s, 0, numel, False) for s in sources[r])),)
        for r, to in enumerate(peers)
    ]

"""Recursive doubling and recursive halving-doubling: partners at distances 1, 2, 4, ...

    doubling            in round j swap everything with the rank whose bit j differs, and add
                        hops m, each rank sends m N                                        n = 2^m
    halving-doubling    reduce-scatter: swap halves at distance 2^(m-1), quarters at 2^(m-2), ...; all-gather back
                        hops 2m, each rank sends 2 (n-1)/n N

Thakur, Rabenseifner, Gropp, IJHPCA 2005. Other numbers of ranks fold: of the first 2(n - 2^m) ranks every odd one first
gives all it has to its even neighbour and is told the sum at the end: 2 hops more, N more for each of the pair.
Differs: no binary blocks, whose gain is small and whose order of additions is harder to follow.
"""

from __future__ import annotations

from collections.abc import Callable

from laconic.topology.programs.hop import Program, Receive, Round, Send, Span, chunk, padded, round_of

_Inner = Callable[[tuple[int, ...], int, Span], Program]


def recursive_doubling(rank: int, world: int, numel: int) -> Program:
    return _folded(rank, world, (0, numel), _doubling)


def halving_doubling(rank: int, world: int, numel: int) -> Program:
    return _folded(rank, world, (0, numel), _halving_doubling)


def halving_reduce_scatter(members: tuple[int, ...], me: int, span: Span) -> Program:
    """2^m members: each ends with the share that `halved` names; m rounds."""
    program: Program = ()
    for bit in reversed(range(len(members).bit_length() - 1)):
        peer, mine = members[me ^ 1 << bit], me >> bit & 1
        keep, give = chunk(span, 2, mine), chunk(span, 2, 1 - mine)
        program += (round_of([Send(peer, *give)], [Receive(peer, *keep, True)]),)
        span = keep
    return program


def doubling_all_gather(members: tuple[int, ...], me: int, span: Span) -> Program:
    """The way back."""
    program: Program = ()
    for bit in reversed(range(len(members).bit_length() - 1)):
        peer, mine = members[me ^ 1 << bit], me >> bit & 1
        keep, get = chunk(span, 2, mine), chunk(span, 2, 1 - mine)
        program = (round_of([Send(peer, *keep)], [Receive(peer, *get, False)]), *program)
        span = keep
    return program


def halved(me: int, members: int, span: Span) -> Span:
    """What a member owns between the two halves."""
    for bit in reversed(range(members.bit_length() - 1)):
        span = chunk(span, 2, me >> bit & 1)
    return span


def _doubling(members: tuple[int, ...], me: int, span: Span) -> Program:
    peers = [members[me ^ 1 << bit] for bit in range(len(members).bit_length() - 1)]
    return tuple(round_of([Send(p, *span)], [Receive(p, *span, True)]) for p in peers)


def _halving_doubling(members: tuple[int, ...], me: int, span: Span) -> Program:
    return halving_reduce_scatter(members, me, span) + doubling_all_gather(members, me, span)


def _folded(rank: int, world: int, span: Span, inner: _Inner) -> Program:
    power = 1 << world.bit_length() - 1
    extra = world - power
    members = (*range(0, 2 * extra, 2), *range(2 * extra, world))
    if not extra:
        return inner(members, rank, span)
    length = len(inner(members, 0, span))
    if rank >= 2 * extra:
        return (Round(), *inner(members, rank - extra, span), Round())
    if rank % 2 == 0:
        before, after = [Receive(rank + 1, *span, True)], [Send(rank + 1, *span)]
        return (round_of([], before), *inner(members, rank // 2, span), round_of(after))
    mine = (round_of([Send(rank - 1, *span)]),)
    return (*padded(mine, 1 + length), round_of([], [Receive(rank - 1, *span, False)]))

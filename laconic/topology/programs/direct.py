"""Everyone at once: scatter-reduce and all-gather without a ring, and groups with a master each.

    sra        round 1: chunk j of everybody goes to rank j, who adds; round 2: rank j sends the sum to everybody
               2 hops, each of n-1 messages; each rank sends 2 (n-1)/n N                      (as CGX's reducer)
    masters    in each group: ring reduce-scatter, all shares to the master; ring all-reduce among masters; back
               hops 2k + 2(g-1) (2k only where k > 1), k the largest of g groups;  4 (k-1)/k N + 2 (g-1)/g N

Masters: Jia et al. 2018, arXiv:1807.11205. Differs: their groups all-reduce by a ring before the masters talk, 4(k-1) +
2(g-1) hops; here only the master learns the group's sum. Groups are consecutive ranks and may differ in size.
"""

from __future__ import annotations

from laconic.topology.programs.grid import ring_all_gather, ring_all_reduce, ring_reduce_scatter
from laconic.topology.programs.hop import Program, Receive, Send, Span, chunk, padded, round_of


def sra(rank: int, world: int, numel: int) -> Program:
    everyone = tuple(range(world))
    return scatter_reduce(everyone, rank, (0, numel)) + direct_all_gather(everyone, rank, (0, numel))


def scatter_reduce(members: tuple[int, ...], me: int, span: Span) -> Program:
    """Member i ends with chunk i summed over all; one round."""
    n = len(members)
    others = [i for i in range(n) if i != me]
    sends = [Send(members[i], *chunk(span, n, i)) for i in others]
    return (round_of(sends, [Receive(members[i], *chunk(span, n, me), True) for i in others]),)[: n - 1]


def direct_all_gather(members: tuple[int, ...], me: int, span: Span) -> Program:
    """Member i starts with chunk i; one round."""
    n = len(members)
    others = [i for i in range(n) if i != me]
    receives = [Receive(members[i], *chunk(span, n, i), False) for i in others]
    return (round_of([Send(members[i], *chunk(span, n, me)) for i in others], receives),)[: n - 1]


def masters(rank: int, world: int, numel: int, groups: int) -> Program:
    line_up = [tuple(range(*chunk((0, world), groups, g))) for g in range(groups)]
    mine = next(members for members in line_up if rank in members)
    chiefs, me, span = tuple(members[0] for members in line_up), mine.index(rank), (0, numel)
    most = max(len(members) for members in line_up)
    talk = ring_all_reduce(chiefs, chiefs.index(rank), span) if me == 0 else ()
    return (
        *padded(ring_reduce_scatter(mine, me, span), most - 1),
        *padded(_to_master(mine, me, span), min(1, most - 1)),
        *padded(talk, 2 * (groups - 1)),
        *padded(_from_master(mine, me, span), min(1, most - 1)),
        *padded(ring_all_gather(mine, me, span), most - 1),
    )


def _to_master(members: tuple[int, ...], me: int, span: Span) -> Program:
    n = len(members)
    if me:
        return (round_of([Send(members[0], *chunk(span, n, me))]),)
    return (round_of([], [Receive(members[i], *chunk(span, n, i), False) for i in range(1, n)]),)[: n - 1]


def _from_master(members: tuple[int, ...], me: int, span: Span) -> Program:
    n = len(members)
    if me:
        return (round_of([], [Receive(members[0], *chunk(span, n, me), False)]),)
    return (round_of([Send(members[i], *chunk(span, n, i)) for i in range(1, n)]),)[: n - 1]

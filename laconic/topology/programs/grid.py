"""All-reduce along the dimensions of a grid: ring, hierarchical, 2D torus, 2D mesh and BlueConnect are one program.

    n = p_1 p_2 ... p_m;  rank = c_1 + p_1 c_2 + p_1 p_2 c_3 + ...
    reduce-scatter along dimension 1, of the own share along dimension 2, ..., m; then all-gather along m, ..., 1

    hops  2 sum_i (p_i - 1)          sent by each rank  2 (n-1)/n N, of it 2 (p_i-1)/p_i N / (p_1 ... p_{i-1}) along i

Along each dimension runs a ring. m = 1 is the ring itself (Patarasuk, Yuan, JPDC 2009), two dimensions are the 2D torus
(Mikami et al. 2018, arXiv:1811.05233) and also hierarchical all-reduce whose groups are consecutive ranks (as in
Horovod: reduce-scatter inside, all-reduce of the shares across, all-gather inside), any factors are BlueConnect
(Cho et al., MLSys 2019). The 2D mesh (Ying et al. 2018, arXiv:1811.06992) runs one half of the tensor X first and the
other Y first.

After the ring's reduce-scatter member i owns chunk i of n nearly equal ones; `share` tells what a rank owns in general.
"""

from __future__ import annotations

from math import isqrt, prod

from laconic.topology.programs.hop import Program, Receive, Send, Span, chunk, round_of, side_by_side


def ring_reduce_scatter(members: tuple[int, ...], me: int, span: Span) -> Program:
    """Member i ends with chunk i of the range summed over all; n-1 rounds."""
    n, after, before = len(members), *_beside(members, me)
    return tuple(
        round_of(
            [Send(after, *chunk(span, n, (me - s - 1) % n))], [Receive(before, *chunk(span, n, (me - s - 2) % n), True)]
        )
        for s in range(n - 1)
    )


def ring_all_gather(members: tuple[int, ...], me: int, span: Span) -> Program:
    """Member i starts with chunk i; all end with all; n-1 rounds."""
    n, after, before = len(members), *_beside(members, me)
    return tuple(
        round_of(
            [Send(after, *chunk(span, n, (me - s) % n))], [Receive(before, *chunk(span, n, (me - s - 1) % n), False)]
        )
        for s in range(n - 1)
    )


def ring_all_reduce(members: tuple[int, ...], me: int, span: Span) -> Program:
    return ring_reduce_scatter(members, me, span) + ring_all_gather(members, me, span)


def grid_reduce_scatter(rank: int, factors: tuple[int, ...], span: Span, order: tuple[int, ...]) -> Program:
    """Rings along the dimensions in this order, each over what the last one left me."""
    program: Program = ()
    for dimension in order:
        members, me = line(rank, factors, dimension)
        program += ring_reduce_scatter(members, me, span)
        span = chunk(span, len(members), me)
    return program


def grid_all_gather(rank: int, factors: tuple[int, ...], span: Span, order: tuple[int, ...]) -> Program:
    """The way back: dimensions in reverse order."""
    program: Program = ()
    for dimension in order:
        members, me = line(rank, factors, dimension)
        program = ring_all_gather(members, me, span) + program
        span = chunk(span, len(members), me)
    return program


def share(rank: int, factors: tuple[int, ...], span: Span, order: tuple[int, ...] | None = None) -> Span:
    """What a rank owns between the two halves."""
    for dimension in order or tuple(range(len(factors))):
        members, me = line(rank, factors, dimension)
        span = chunk(span, len(members), me)
    return span


def blueconnect(rank: int, factors: tuple[int, ...], numel: int) -> Program:
    order = tuple(range(len(factors)))
    span = (0, numel)
    return grid_reduce_scatter(rank, factors, span, order) + grid_all_gather(rank, factors, span, order)


def mesh(rank: int, factors: tuple[int, int], numel: int) -> Program:
    """Two halves at once, one X then Y, the other Y then X."""
    halves = [chunk((0, numel), 2, h) for h in range(2)]
    ways = [
        grid_reduce_scatter(rank, factors, span, order) + grid_all_gather(rank, factors, span, order)
        for span, order in zip(halves, ((0, 1), (1, 0)), strict=True)
    ]
    return side_by_side(*ways)


def line(rank: int, factors: tuple[int, ...], dimension: int) -> tuple[tuple[int, ...], int]:
    """The ranks that differ from mine in this coordinate only, and where I stand among them."""
    stride, size = prod(factors[:dimension]), factors[dimension]
    me = rank // stride % size
    first = rank - me * stride
    return tuple(first + i * stride for i in range(size)), me


def squarest(world: int) -> tuple[int, int]:
    """rows x columns, as near to each other as they can be; a prime number of ranks stands in one row."""
    rows = next(r for r in range(isqrt(world), 0, -1) if world % r == 0)
    return rows, world // rows


def prime_factors(world: int) -> tuple[int, ...]:
    found, rest, p = [], world, 2
    while rest > 1:
        while rest % p == 0:
            found.append(p)
            rest //= p
        p += 1
    return tuple(found) or (1,)


def _beside(members: tuple[int, ...], me: int) -> tuple[int, int]:
    return members[(me + 1) % len(members)], members[me - 1]

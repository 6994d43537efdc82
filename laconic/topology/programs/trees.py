"""Sums that climb a tree and come down again.

    tree          binomial: in round j the ranks with lowest set bit j send all to rank - 2^j; then backwards
                  hops 2 ceil(log2 n), N a hop                                                      root 0
    double tree   each half of the tensor on a tree of its own, cut into k pieces that follow one another
                  hops 2 ceil(log2 n) + k - 1; a rank sends at most 2 N in all

Double binary trees: Sanders, Speck, Traeff, Parallel Computing 2009; the shape is NCCL 2.4's: the lowest set bit b of
a rank is its height, its parent (r - b) | 2b, or r - b where that does not exist; the second tree is the first one
mirrored (even n) or turned by one (odd n), so that hardly anyone has children in both. A piece leaves height h of its
tree in round h + its number and, once the root knows the sum, comes down one height a round while others still climb.
"""

from __future__ import annotations

from collections.abc import Callable

from laconic.topology.programs.hop import Program, Receive, Send, Span, chunk, round_of, side_by_side

PIECE = 32_768  # elements: shorter pieces cost more latency than they save waiting
MOST_PIECES = 16


def tree(rank: int, world: int, numel: int) -> Program:
    rounds = height(world)
    up, down = [], []
    for j in range(rounds):
        below = rank + (1 << j)
        child = rank % (2 << j) == 0 and below < world
        mine = rank % (2 << j) == 1 << j
        parent = rank - (1 << j)
        up.append(round_of([Send(parent, 0, numel)] if mine else [], [Receive(below, 0, numel, True)] if child else []))
        down.append(
            round_of([Send(below, 0, numel)] if child else [], [Receive(parent, 0, numel, False)] if mine else [])
        )
    return (*up, *reversed(down))


def double_tree(rank: int, world: int, numel: int, pieces: int = 0) -> Program:
    halves = chunk((0, numel), 2, 0), chunk((0, numel), 2, 1)
    count = pieces or usual_pieces(numel)
    there, back = second_tree(world)
    first = _pipelined(rank, world, halves[0], count, lambda r: r)
    return side_by_side(first, _pipelined(there(rank), world, halves[1], count, back))


def usual_pieces(numel: int) -> int:
    """How many pieces each half is cut into where nobody said."""
    return max(1, min(MOST_PIECES, numel // 2 // PIECE))


def height(world: int) -> int:
    """ceil(log2 n)."""
    return (world - 1).bit_length()


def parent(rank: int, world: int) -> int | None:
    if rank == 0:
        return None
    bit = rank & -rank
    up = (rank ^ bit) | bit << 1
    return up if up < world else rank ^ bit


def children(rank: int, world: int) -> tuple[int, ...]:
    return tuple(r for r in range(1, world) if parent(r, world) == rank)


def second_tree(world: int) -> tuple[Callable[[int], int], Callable[[int], int]]:
    """Rank -> its place in the second tree, and back."""
    if world % 2 == 0:
        return (lambda r: world - 1 - r), (lambda r: world - 1 - r)
    return (lambda r: (r - 1) % world), (lambda r: (r + 1) % world)


def _pipelined(place: int, world: int, span: Span, pieces: int, rank_of: Callable[[int], int]) -> Program:
    """One tree: piece c leaves height h in round h + c and reaches it from above in round 2 top + 1 - h + c."""
    if world == 1:
        return ()
    top = height(world) - 1
    up, below = parent(place, world), children(place, world)
    sends: list[list[Send]] = [[] for _ in range(2 * top + 1 + pieces)]
    receives: list[list[Receive]] = [[] for _ in sends]
    for c in range(pieces):
        piece = chunk(span, pieces, c)
        for child in below:
            receives[_height(child) + c].append(Receive(rank_of(child), *piece, True))
            sends[2 * top + 1 - _height(child) + c].append(Send(rank_of(child), *piece))
        if up is not None:
            sends[_height(place) + c].append(Send(rank_of(up), *piece))
            receives[2 * top + 1 - _height(place) + c].append(Receive(rank_of(up), *piece, False))
    return tuple(round_of(s, r) for s, r in zip(sends, receives, strict=True))


def _height(place: int) -> int:
    return (place & -place).bit_length() - 1

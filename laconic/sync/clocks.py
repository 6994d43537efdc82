"""Who may go on, whose update counts, and how much: pure functions of clocks.

A worker's clock is the number of its steps that the shared model has taken in; a version is that number over all. The
staleness of an update is how many updates of others came between the model it was computed from and the one it is
added to.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


def must_have(clock: int, bound: int | None) -> int:
    """Which clock everyone must have reached before a worker at `clock` may begin its next step."""
    return 0 if bound is None else max(0, clock - bound)


def may_go_on(clock: int, clocks: Sequence[int], bound: int | None) -> bool:
    """SSP: the slowest is at most `bound` behind."""
    return min(clocks, default=clock) >= must_have(clock, bound)


def may_read(rank: int, clock: int, inside: Sequence[int], bound: int | None) -> bool:
    """May `rank`, at `clock`, read the shared model, that has these clocks `inside`, and add what it has not said yet?
    With a bound of 0 its own step must be inside too. Else it would go on before the others, and its next step could be
    inside, together with this one, when they read: a model that is newer than BSP's."""
    own = inside[rank] if bound == 0 else clock
    return may_go_on(clock, [own, *(c for r, c in enumerate(inside) if r != rank)], bound)


def weight(staleness: int, world: int, *, damped: bool) -> float:
    """1/n, as in a mean; a damped update that is staler than n workers make it in turn counts 1/(staleness + 1)."""
    return 1.0 / max(world, staleness + 1) if damped else 1.0 / world


def accepts(staleness: int, most: int | None) -> bool:
    return most is None or staleness <= most


def whose_turn(last: int, world: int, away: Collection[int] = ()) -> int | None:
    """Round-robin: who comes after `last` (-1: nobody yet), those who are away left out."""
    for ahead in range(1, world + 1):
        rank = (last + ahead) % world
        if rank not in away:
            return rank
    return None


def closes(arrived: int, quorum: int, active: int, waited_s: float, grace_s: float) -> bool:
    """Is a round complete? When all are there; or enough are, and the others had their grace since then."""
    if arrived >= active:
        return arrived > 0
    return arrived >= quorum and waited_s >= grace_s


def gap(clocks: Mapping[int, int]) -> int:
    """Between the fastest and the slowest."""
    return max(clocks.values()) - min(clocks.values()) if clocks else 0

"""Hop programs of all ranks in one process, round by round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

from torch import Tensor

from laconic.net.link import Link
from laconic.topology.programs.hop import IDLE, Program

Combine = Callable[[Tensor, Tensor], Tensor]


def all_reduce_in_step(
    programs: Sequence[Program], tensors: Sequence[Tensor], combine: Combine, links: Sequence[Link]
) -> None:
    """Every rank's flat tensor becomes the combination of all, in place; `links` count every hop."""
    for number, row in enumerate(zip_longest(*programs, fillvalue=IDLE)):
        under_way: dict[tuple[int, int], list[Tensor]] = {}
        for rank, (r, t, link) in enumerate(zip(row, tensors, links, strict=True)):
            for s in r.sends:
                under_way.setdefault((rank, s.peer), []).append(t[s.start : s.stop].clone())
                link.send(t[s.start : s.stop].nbytes, 1)
        for rank, (r, t) in enumerate(zip(row, tensors, strict=True)):
            for x in r.receives:
                message, mine = under_way[x.peer, rank].pop(0), t[x.start : x.stop]
                mine.copy_(ordered(combine, mine, message, x.peer < rank) if x.add else message)
        assert not any(under_way.values()), f"round {number} left messages unread"


def ordered(combine: Combine, mine: Tensor, theirs: Tensor, they_first: bool) -> Tensor:
    """The lower rank's operand first: two ranks that combine the same pair get the same bits."""
    return combine(theirs, mine) if they_first else combine(mine, theirs)

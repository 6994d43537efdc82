"""Which servers a worker calls, what it tells each about itself, and which does what: a pure function of the layout.

Everywhere but in a tree, all workers call all servers as one group. In a tree, workers call the root as one group (for
what is handed on or encoded again), and their leaf as a group of its own, which learns from them where its root is:
what the leaf's workers add up to goes there as a number of the group of leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from laconic.drive.wiring import Wiring
from laconic.server.server import PROTOCOL, Member
from laconic.topology import ParameterServer


@dataclass(frozen=True)
class Call:
    name: str  # what I call the server
    address: str
    as_name: str  # what it shall call me
    words: dict[str, Any]


def plan_calls(
    topology: ParameterServer, me: Member, world: int, addresses: Sequence[str], beside: frozenset[int] = frozenset()
) -> tuple[list[Call], Wiring]:
    """`beside`: the servers in this process."""
    if topology.layout == "tree":
        return _in_tree(me, world, addresses, beside)
    calls = [Call(f"server/{s}", address, me.name, _words(me, world)) for s, address in enumerate(addresses)]
    names = tuple(call.name for call in calls)
    return calls, Wiring(me.rank, world, names, beside, topology.layout == "colocated")


def _in_tree(me: Member, world: int, addresses: Sequence[str], beside: frozenset[int]) -> tuple[list[Call], Wiring]:
    root, *leaves = addresses
    used = min(len(leaves), world)
    mine = leaf_of(me.rank, world, used)
    group = [rank for rank in range(world) if leaf_of(rank, world, used) == mine]
    there = Member(f"{me.group}/leaf/{mine}", group.index(me.rank))
    above = {"root": root, "leaf": mine, "leaves": used, "above": f"{me.group}/leaves"}
    calls = [
        Call("root", root, me.name, _words(me, world)),
        Call("leaf", leaves[mine], there.name, {**_words(there, len(group)), **above}),
    ]
    near = {0: 0, 1 + mine: 1}  # server number -> place in my list
    wiring = Wiring(
        me.rank, world, ("root", "leaf"), frozenset(near[s] for s in beside & near.keys()), False, (1,), (0,)
    )
    return calls, wiring


def leaf_of(rank: int, world: int, leaves: int) -> int:
    """Neighbours in rank order share a leaf."""
    return rank * leaves // world


def _words(me: Member, world: int) -> dict[str, Any]:
    return {"group": me.group, "rank": me.rank, "world": world, "protocol": PROTOCOL}

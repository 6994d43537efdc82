"""Parameter servers: workers push, servers average, workers pull. Real processes and sockets, see docs/servers.md.

    sharded     k servers, each owns 1/k of every bucket     a worker sends S and receives S, a server n S/k each
    colocated   a server beside each worker, owns 1/n        a host sends and receives 2(n-1)/n S, like a ring
    tree        a root and k-1 leaves, n/(k-1) workers each  a worker S, a leaf n S/(k-1) + S, the root (k-1) S

S: bytes of a bucket, dense or packed. Dense tensors are summed in rank order; codes that cannot be summed are decoded,
averaged and encoded again with the server's own error memory (`reply=encode`), or handed to everybody as they are
(`reply=all`: n messages come back, nothing is lost). `auto` encodes dense codes again and hands sparse ones on.

In a tree only dense sums go level by level; messages that are not summed go to the root.

Li et al., OSDI 2014. Differs: ranges are cut evenly instead of hashed, so that every server has the same load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.core.errors import PlanError
from laconic.core.exchange import Route
from laconic.topology.base import AbstractTopology

LAYOUTS = ("sharded", "colocated", "tree")
_SMALLEST_TREE = 3  # a root and two leaves
_MOST = 1024


@dataclass(frozen=True)
class ParameterServer(AbstractTopology):
    """Workers push to servers and pull what those made of it."""

    layout: str = "sharded"
    servers: int = 0  # 0: one, one beside each worker, or a root and two leaves
    reply: str = "auto"

    name: ClassVar[str] = "ps"
    paper: ClassVar[str] = "li2014scaling"

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            hint = f" Write ps(servers={self.layout})." if self.layout.isdecimal() else ""
            raise PlanError(f"ps({self.layout}): the layout is sharded, colocated or tree.{hint}")
        if self.reply not in ("auto", "encode", "all"):
            raise PlanError(f"ps(reply={self.reply}): servers reply auto, encode or all.")
        if not 0 <= self.servers <= _MOST:
            raise PlanError(f"ps(servers={self.servers}): give a number between 1 and {_MOST}.")
        if self.layout == "colocated" and self.servers:
            raise PlanError(
                f"ps(colocated, servers={self.servers}): there is a server beside each worker, no more and no fewer. "
                f"Leave servers out."
            )

        if self.layout == "tree" and 0 < self.servers < _SMALLEST_TREE:
            raise PlanError(f"ps(tree, servers={self.servers}): a tree has a root and at least two leaves: 3 servers.")

    def route(self, sparse: bool, world: int) -> Route:
        encodes = self.reply == "encode" or (self.reply == "auto" and not sparse)
        return Route.SERVER if encodes else Route.GATHER

    @property
    def told(self) -> str:
        return "" if self.reply == "auto" else f"reply={self.reply}"

    def owners(self, world: int) -> int:
        """In a tree only the root averages packed messages."""
        return 1 if self.layout == "tree" else self.count(world)

    def count(self, world: int) -> int:
        """How many servers there are."""
        if self.layout == "colocated":
            return world
        return self.servers or (_SMALLEST_TREE if self.layout == "tree" else 1)

    def own_hosts(self, world: int) -> int:
        """How many servers have a host of their own, beside those of the workers."""
        return 0 if self.layout == "colocated" else self.count(world)

    def traits(self) -> dict[str, object]:
        return {"peers": "servers", "mean": "exact", "bytes": "a message up, a message down"}

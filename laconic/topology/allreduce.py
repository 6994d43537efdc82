"""All-reduce: everyone ends with the mean of everyone, by the backend's own collectives.

Averages (`none`, `fp16`, `powersgd`, ...) use the backend's all-reduce: 2(n-1)/n of the bytes leave each rank.
Messages that cannot be summed take one of two routes:

    gather   all-gather, every rank decodes all n messages           (n-1) b
    deal     all-to-all of chunks, mean, encode again, all-gather    2(n-1)/n b, one more rounding

`auto` deals dense codes among more than two ranks and gathers otherwise: sparse messages have no chunks of known
length, and two ranks move b bytes either way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.core.errors import PlanError
from laconic.core.exchange import Route
from laconic.topology.base import AbstractTopology


@dataclass(frozen=True)
class AllReduce(AbstractTopology):
    """Everyone averages with everyone, by the backend's collectives."""

    route_by: str = "auto"

    name: ClassVar[str] = "allreduce"
    paper: ClassVar[str] = "patarasuk2009bandwidth"

    def __post_init__(self) -> None:
        if self.route_by not in ("auto", "gather", "deal"):
            raise PlanError(f"allreduce({self.route_by}): the route is auto, gather or deal.")

    def route(self, sparse: bool, world: int) -> Route:
        if self.route_by == "auto":
            return Route.DEAL if world > 2 and not sparse else Route.GATHER
        return Route(self.route_by)

    def traits(self) -> dict[str, object]:
        return {"peers": "all", "mean": "exact", "bytes": "2(n-1)/n of a message summed on the way"}

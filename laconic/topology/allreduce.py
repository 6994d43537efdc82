"""All-reduce: everyone ends with the mean of everyone.

Averages (`none`, `fp16`, `powersgd`, ...) are summed on the way, by the backend's own all-reduce or by a hop program:

    allreduce                              the backend's own (`native`)
    allreduce(ring)                        n-1 neighbours' hops to sum, n-1 to spread
    allreduce(recursive_doubling)          log2 n hops of everything: for small tensors
    allreduce(halving_doubling)            2 log2 n hops, the ring's bytes
    allreduce(tree)                        up a binomial tree and down again
    allreduce(double_tree, pieces=8)       two trees, half the tensor each, in pieces
    allreduce(hierarchical, groups=2)      reduce-scatter inside groups, all-reduce across, all-gather inside
    allreduce(masters, groups=2)           one rank of each group speaks for it; groups may differ in size
    allreduce(torus, rows=2)               along the columns of a grid, then along its rows
    allreduce(mesh, rows=2)                both orders at once, half the tensor each
    allreduce(blueconnect, factors=2x2x3)  along every dimension of a grid
    allreduce(sra)                         all chunks to their owners at once, all sums back at once
    allreduce(auto)                        by size, from times measured when training starts

Hops and bytes of each stand in topology/cost.py. Every rank gets the same bits: a sum is made in one place and
copied, or made alike in several.

Messages that cannot be summed take one of two routes, whatever the algorithm:

    route=gather   all-gather, every rank decodes all n messages           (n-1) b
    route=deal     all-to-all of chunks, mean, encode again, all-gather    2(n-1)/n b, one more rounding

`route=auto` deals dense codes among more than two ranks and gathers otherwise: sparse messages have no chunks of known
length, and two ranks move b bytes either way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from laconic.core.errors import PlanError
from laconic.core.exchange import Route
from laconic.topology import programs
from laconic.topology.base import AbstractTopology
from laconic.topology.programs import CONCERNS, NAMES, Program, Shape

NATIVE, AUTO = "native", "auto"
_GATHERED_BYTES, _GATHERED_WORLD = 4096, 8
_DEEPEST = 8  # dimensions
_PAPERS = {
    "recursive_doubling": "thakur2005optimization",
    "halving_doubling": "thakur2005optimization",
    "tree": "thakur2005optimization",
    "double_tree": "sanders2009two",
    "masters": "jia2018highly",
    "torus": "mikami2018massively",
    "mesh": "ying2018image",
    "blueconnect": "cho2019blueconnect",
    "hierarchical": "cho2019blueconnect",
    "sra": "markov2022cgx",
}


@dataclass(frozen=True)
class AllReduce(AbstractTopology):
    """Everyone averages with everyone, by the backend's collectives or by a hop program of ours."""

    algorithm: str = NATIVE
    groups: int = 0
    rows: int = 0
    factors: str = ""
    pieces: int = 0
    route_by: str = "auto"

    name: ClassVar[str] = "allreduce"
    paper: ClassVar[str] = "patarasuk2009bandwidth"
    spelled: ClassVar[Mapping[str, str]] = {"route_by": "route"}

    def __post_init__(self) -> None:
        known = (NATIVE, AUTO, *NAMES)
        if self.algorithm in ("gather", "deal"):
            raise PlanError(f"allreduce({self.algorithm}): this is a route. Write allreduce(route={self.algorithm}).")
        if self.algorithm not in known:
            raise PlanError(f"allreduce({self.algorithm}): the algorithm is one of {', '.join(known)}.")
        if self.route_by not in ("auto", "gather", "deal"):
            raise PlanError(f"allreduce(route={self.route_by}): the route is auto, gather or deal.")
        for option in ("groups", "rows", "factors", "pieces"):
            self._check(option)

    def _check(self, option: str) -> None:
        value = getattr(self, option)
        if not value:
            return
        if CONCERNS.get(self.algorithm) != option:
            fitting = " or ".join(name for name, concern in CONCERNS.items() if concern == option)
            raise PlanError(f"allreduce({self.algorithm}): {option}= has no effect here, only with {fitting}.")
        if option == "factors":
            _factors(self.factors)
        elif value < 0 or value > 4096:
            raise PlanError(f"allreduce({option}={value}): give a number from 1 to 4096.")

    @property
    def shape(self) -> Shape:
        return Shape(self.groups, self.rows, _factors(self.factors), self.pieces)

    def fit(self, world: int) -> None:
        """Raise where so many ranks cannot work this way."""
        problem = programs.misfit(self.algorithm, world, self.shape)
        if problem is not None:
            raise PlanError(f"{self}: {problem}.")

    def program(self, rank: int, world: int, numel: int) -> Program | None:
        """How a rank all-reduces so many elements; None: the backend knows. Not for `auto`, which must measure."""
        assert self.algorithm != AUTO, "see topology/choice.py"
        if self.algorithm == NATIVE:
            return None
        return programs.build(self.algorithm, rank, world, numel, self.shape)

    def route(self, sparse: bool, world: int) -> Route:
        if self.route_by == "auto":
            return Route.DEAL if world > 2 and not sparse else Route.GATHER
        return Route(self.route_by)

    @property
    def told(self) -> str:
        return "" if self.route_by == "auto" else f"route={self.route_by}"

    def papers(self) -> tuple[str, ...]:
        return (_PAPERS.get(self.algorithm, self.paper),)

    def traits(self) -> dict[str, object]:
        return {"peers": "all", "mean": "exact", "bytes": "2(n-1)/n of a message summed on the way"}


def _factors(text: str) -> tuple[int, ...]:
    """`2x3` -> (2, 3)."""
    words = text.lower().split("x") if text else []
    if not all(w.isdecimal() and 1 <= int(w) <= 4096 for w in words) or len(words) > _DEEPEST:
        raise PlanError(
            f"allreduce(factors={text}): write the ranks along each of at most {_DEEPEST} dimensions, as in 2x2x3."
        )
    return tuple(map(int, words))


def gathers(topology: AbstractTopology, nbytes: int, world: int) -> bool:
    """Is a plain sum gathered, and added up by everyone? That has half the hops of a ring that adds up, but more bytes:
    only what is small, among few, and where nobody has asked for an algorithm."""
    native = isinstance(topology, AllReduce) and topology.algorithm == NATIVE
    return native and nbytes <= _GATHERED_BYTES and world <= _GATHERED_WORLD

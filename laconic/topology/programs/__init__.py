"""All-reduce written once as hop programs: who sends which elements to whom, round by round (see hop.py).

    build("ring", rank, world, numel)         ->  the program of one rank
    reduce_scatter("ring", rank, world, ...)  ->  its first half alone, after which `owned` names what the rank holds
    all_gather("ring", rank, world, ...)      ->  its second half alone

All are pure: the same arguments give the same program on every rank and every machine.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

from laconic.core.errors import PlanError
from laconic.topology.programs import direct, grid, halving, trees
from laconic.topology.programs.hop import Program, Receive, Round, Send, Span, Tally, chunk, fault, tally


class Shape(NamedTuple):
    """What an algorithm may be told about the network; 0 and () are left to it. Only one of them concerns each."""

    groups: int = 0  # hierarchical, masters: how many groups of consecutive ranks
    rows: int = 0  # torus, mesh: of the grid of ranks
    factors: tuple[int, ...] = ()  # blueconnect: ranks along each dimension
    pieces: int = 0  # double_tree: of each half


GRIDS = ("ring", "hierarchical", "torus", "mesh", "blueconnect")
NAMES = (*GRIDS, "recursive_doubling", "halving_doubling", "tree", "double_tree", "sra", "masters")
CONCERNS = {
    "hierarchical": "groups",
    "masters": "groups",
    "torus": "rows",
    "mesh": "rows",
    "blueconnect": "factors",
    "double_tree": "pieces",
}
_SHAPELESS = {
    "recursive_doubling": halving.recursive_doubling,
    "halving_doubling": halving.halving_doubling,
    "tree": trees.tree,
    "sra": direct.sra,
}
HALVES = (*GRIDS, "halving_doubling", "sra")  # those that are a reduce-scatter followed by an all-gather
ANY = Shape()


def misfit(name: str, world: int, shape: Shape = ANY) -> str | None:
    """Why so many ranks cannot stand in this shape; None where they can."""
    if name == "hierarchical" and shape.groups and world % shape.groups:
        return f"{world} ranks cannot form {shape.groups} equal groups. Use another groups=, or masters"
    if name == "masters" and shape.groups > world:
        return f"{world} ranks cannot form {shape.groups} groups"
    if name in ("torus", "mesh") and shape.rows and world % shape.rows:
        return f"{world} ranks cannot stand in {shape.rows} equal rows"
    if name == "blueconnect" and shape.factors and prod(shape.factors) != world:
        words = " x ".join(map(str, shape.factors))
        return f"{words} is {prod(shape.factors)}, but there are {world} ranks"
    return None


def factors(name: str, world: int, shape: Shape = ANY) -> tuple[int, ...]:
    """How many ranks stand along each dimension of a grid, in the order they reduce."""
    problem = misfit(name, world, shape)
    if problem is not None:
        raise PlanError(f"allreduce({name}): {problem}.")
    match name:
        case "ring":
            return (world,)
        case "hierarchical":
            groups = shape.groups or grid.squarest(world)[0]
            return world // groups, groups
        case "torus" | "mesh":
            rows = shape.rows or grid.squarest(world)[0]
            return world // rows, rows
        case "blueconnect":
            return shape.factors or grid.prime_factors(world)
        case _:
            raise PlanError(f"{name} is not a grid. There are {', '.join(GRIDS)}.")


def usual_groups(world: int) -> int:
    return grid.squarest(world)[0]


@lru_cache(maxsize=4096)
def build(name: str, rank: int, world: int, numel: int, shape: Shape = ANY) -> Program:
    """What `rank` of `world` does to all-reduce `numel` elements."""
    problem = misfit(name, world, shape)
    if problem is not None:
        raise PlanError(f"allreduce({name}): {problem}.")
    match name:
        case "mesh":
            x, y = factors(name, world, shape)
            return grid.mesh(rank, (x, y), numel)
        case "ring" | "hierarchical" | "torus" | "blueconnect":
            return grid.blueconnect(rank, factors(name, world, shape), numel)
        case "double_tree":
            return trees.double_tree(rank, world, numel, shape.pieces)
        case "masters":
            return direct.masters(rank, world, numel, shape.groups or usual_groups(world))
        case _ if name in _SHAPELESS:
            return _SHAPELESS[name](rank, world, numel)
        case _:
            raise PlanError(f"{name!r} is no all-reduce program. There are {', '.join(NAMES)}.")


def reduce_scatter(name: str, rank: int, world: int, numel: int, shape: Shape = ANY) -> Program:
    """The first half: afterwards the ranges `owned` by this rank hold sums, the rest is of no use."""
    program = build(name, rank, world, numel, shape)
    return program[: _middle(name, world, program)]


def all_gather(name: str, rank: int, world: int, numel: int, shape: Shape = ANY) -> Program:
    """The second half: everybody's `owned` ranges reach everybody."""
    program = build(name, rank, world, numel, shape)
    return program[_middle(name, world, program) :]


def owned(name: str, rank: int, world: int, numel: int, shape: Shape = ANY) -> tuple[Span, ...]:
    """What a rank holds between the halves; over all ranks these ranges cover every element once."""
    _middle(name, world, ())
    whole = (0, numel)
    match name:
        case "sra":
            return (chunk(whole, world, rank),)
        case "halving_doubling":
            return (halving.halved(rank, world, whole),)
        case "mesh":
            sides = factors(name, world, shape)
            return (
                grid.share(rank, sides, chunk(whole, 2, 0), (0, 1)),
                grid.share(rank, sides, chunk(whole, 2, 1), (1, 0)),
            )
        case _:
            return (grid.share(rank, factors(name, world, shape), whole),)


def _middle(name: str, world: int, program: Program) -> int:
    if name not in HALVES:
        raise PlanError(f"{name} has no halves to use alone. Take one of {', '.join(HALVES)}.")
    if name == "halving_doubling" and world & (world - 1):
        raise PlanError(f"halving_doubling folds {world} ranks to a power of two: its halves need one. Take ring.")
    return len(program) // 2


__all__ = [
    "ANY",
    "CONCERNS",
    "HALVES",
    "NAMES",
    "Program",
    "Receive",
    "Round",
    "Send",
    "Shape",
    "Tally",
    "all_gather",
    "build",
    "factors",
    "fault",
    "misfit",
    "owned",
    "reduce_scatter",
    "tally",
]

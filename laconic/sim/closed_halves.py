"""Reduce-scatter and all-gather by themselves: each is one half of an all-reduce, and only the first one adds.

    ring, n workers, S bytes in all      (n-1) alpha + (n-1)/n S (beta + gamma)      reduce-scatter
                                         (n-1) alpha + (n-1)/n S beta                all-gather

and so of every algorithm that has halves (topology/programs): half its hops and bytes, all it adds or nothing.

Thakur, Rabenseifner, Gropp, IJHPCA 2005. `mesh`, whose messages meet, is left to the player.
"""

from __future__ import annotations

from laconic.core.errors import PlanError
from laconic.sim.closed import WITHOUT, all_reduce
from laconic.sim.network import Line
from laconic.topology.cost import Cost
from laconic.topology.programs import ANY, Shape, owned


def reduce_scatter_s(
    name: str, world: int, nbytes: float, line: Line, shape: Shape = ANY, *, gamma_s: float = 0.0
) -> float:
    whole = _whole(name, world, nbytes, shape)
    return (whole.hops * line.alpha_s + whole.nbytes * line.beta_s) / 2 + whole.added * gamma_s


def all_gather_s(name: str, world: int, nbytes: float, line: Line, shape: Shape = ANY) -> float:
    """`nbytes`: of all shares together."""
    whole = _whole(name, world, nbytes, shape)
    return (whole.hops * line.alpha_s + whole.nbytes * line.beta_s) / 2


def _whole(name: str, world: int, nbytes: float, shape: Shape) -> Cost:
    if name in WITHOUT:
        raise PlanError(f"{name} has no closed form: its messages meet. Play it instead (laconic.sim.play).")
    owned(name, 0, world, 0, shape)  # refuses whoever has no halves, in a sentence
    return all_reduce(name, world, nbytes, shape)

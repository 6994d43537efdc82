"""AD-PSGD: nobody waits. After a step a worker averages its model with one neighbour, while both go on training.

    x_i, x_j <- (x_i + x_j) / 2   in one piece;    a step d, found at an older x_i, is added to what x_i is by then

Lian, Zhang, Zhang, Liu, ICML 2018, arXiv:1710.06952. Workers are divided in two sides, and only one side asks, each
time a neighbour of the other side by its own chance: so nobody can wait in a circle. The sum of all models changes by
the steps alone, however messages and steps interleave: the one who is asked adds (s - y)/2 to its model, the one who
asked (y - s)/2, where s and y are what both said. `drive/pairs.py` does it, over the mailbox.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from laconic.core.exchange import Exchanged
from laconic.topology.graph import Weights
from laconic.topology.mixing.base import AbstractMixing, Around


@dataclass(frozen=True)
class ADPSGD(AbstractMixing):
    """Average with one neighbour at a time, while training goes on; nobody waits."""

    name: ClassVar[str] = "adpsgd"
    paper: ClassVar[str] = "lian2018adpsgd"
    fixed: ClassVar[bool] = True
    paired: ClassVar[bool] = True
    waits: ClassVar[bool] = False

    async def mix(self, x: Tensor, state: Any, at: Around) -> Exchanged:
        raise AssertionError("pairs meet beside the training, not in rounds")

    def traits(self) -> dict[str, object]:
        return {"says": "the model", "graph": "static, undirected", "memory": "2 models", "waits": False}


@dataclass(frozen=True)
class Side:
    """One worker's part: does it ask, and who is across?"""

    asks: bool
    across: tuple[int, ...]


def sides(weights: Weights) -> tuple[Side, ...]:
    """Two sides such that the edges between them still connect everyone; edges within a side are not used.

    Odd and even ranks where that will do (it keeps most edges), else by the distance from rank 0.
    """
    near = [set(row) - {i} for i, row in enumerate(weights.rows)]
    parity = [rank % 2 for rank in range(len(near))]
    if len(_reached(near, parity)) < len(near):
        distance = _reached(near, None)
        parity = [distance[rank] % 2 for rank in range(len(near))]
    return tuple(
        Side(parity[i] == 0, tuple(sorted(j for j in others if parity[i] != parity[j])))
        for i, others in enumerate(near)
    )


def _reached(near: list[set[int]], side: list[int] | None) -> dict[int, int]:
    """Who can be reached from rank 0, and in how many hops; `side`: hops lead to the other side only."""
    found, last = {0: 0}, [0]
    while last:
        ahead = {j for i in last for j in near[i] if side is None or side[i] != side[j]}
        last = sorted(ahead - found.keys())
        found |= dict.fromkeys(last, max(found.values()) + 1)
    return found

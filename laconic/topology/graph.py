"""Who mixes with whom, and with what weight: the interface of graphs.

    x_i <- sum_j W_ij x_j            W_ij: the weight that rank i gives to what rank j sends

Rows that add up to one make it an average; columns that add up to one keep the mean of all models where it is. The
consensus distance shrinks by the factor `rate` a round (rho, the second largest modulus of W's eigenvalues; of a
graph that changes: of the product over a period, per round). 1 - rho is the spectral gap.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.core.component import Component

_ZERO = 1e-12  # an eigenvalue below is zero but for rounding


@dataclass(frozen=True)
class Hood:
    """One rank's neighbourhood in one round."""

    rank: int
    own: float  # the weight of my own model
    sources: tuple[int, ...]  # whom I hear
    weights: tuple[float, ...]  # what I give to each of them
    peers: tuple[int, ...]  # who hears me


@dataclass(frozen=True)
class Weights:
    """W of one round, by rows, without its zeros."""

    rows: tuple[Mapping[int, float], ...]

    def around(self, rank: int) -> Hood:
        row = self.rows[rank]
        sources = tuple(sorted(j for j in row if j != rank))
        peers = tuple(i for i, other in enumerate(self.rows) if rank in other and i != rank)
        return Hood(rank, row.get(rank, 0.0), sources, tuple(row[j] for j in sources), peers)

    def dense(self) -> Tensor:
        out = torch.zeros(len(self.rows), len(self.rows), dtype=torch.float64)
        for i, row in enumerate(self.rows):
            for j, weight in row.items():
                out[i, j] = weight
        return out


class AbstractGraph(Component, ABC):
    folder: ClassVar[str] = "graph"

    @property
    def static(self) -> bool:
        """The same in every round?"""
        return True

    @property
    def symmetric(self) -> bool:
        """Is who hears me whom I hear, with the same weight?"""
        return True

    @abstractmethod
    def weights(self, world: int, turn: int, seed: int) -> Weights:
        """Of round `turn`; the same on every rank."""

    def period(self, world: int) -> int:
        """Rounds after which the weights repeat; 0: never."""
        return 1

    def settle(self, world: int) -> AbstractGraph:
        """This graph for so many workers, with everything it needs read and checked; PlanError where it cannot be."""
        return self

    def rate(self, world: int) -> float:
        """rho: what is left of the consensus distance after a round."""
        return float(second_modulus(self.product(world)) ** (1 / self.period(world)))

    def product(self, world: int) -> Tensor:
        """W of a whole period, last round leftmost."""
        total = torch.eye(world, dtype=torch.float64)
        for turn in range(self.period(world)):
            total = self.weights(world, turn, 0).dense() @ total
        return total

    def gap(self, world: int) -> float:
        return 1.0 - self.rate(world)

    def messages(self, world: int) -> int:
        """The most that one rank sends in a round."""
        most = 0
        for turn in range(self.period(world) or 1):
            heard = Counter(j for i, row in enumerate(self.weights(world, turn, 0).rows) for j in row if j != i)
            most = max(most, *heard.values(), 0)
        return most

    def traits(self) -> dict[str, object]:
        """Quoted for 8 workers."""
        return {
            "static": self.static,
            "symmetric": self.symmetric,
            "messages_of_8": f"{self.messages(8)} a round",
            "gap_of_8": round(self.gap(8), 4),
        }


def second_modulus(matrix: Tensor) -> float:
    """The modulus of the second largest eigenvalue; 0 for a single worker."""
    moduli = torch.linalg.eigvals(matrix).abs().sort(descending=True).values
    second = float(moduli[1]) if len(moduli) > 1 else 0.0
    return second if second > _ZERO else 0.0


def uniform(neighbours: tuple[frozenset[int], ...]) -> Weights:
    """The same weight for everyone a rank hears and for itself: 1 / (1 + degree).

    These are the Metropolis weights 1 / (1 + max(d_i, d_j)) of a graph whose ranks all have the same degree.
    """
    share = [1.0 / (1 + len(near - {i})) for i, near in enumerate(neighbours)]
    return Weights(tuple(dict.fromkeys(near | {i}, share[i]) for i, near in enumerate(neighbours)))

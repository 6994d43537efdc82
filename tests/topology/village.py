"""n virtual workers that gossip in one process: their models, their states, round after round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from laconic.compress import AbstractCompressor, Identity, letters
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Seat, Turn
from laconic.drive.lockstep import lockstep
from laconic.net.link import Link
from laconic.plan import Plan
from laconic.topology import Gossip
from laconic.topology.mixing.base import Around

MATRIX = BucketSpec(0, ("weight", "bias"), ((24, 20), (20,)))
Step = Callable[[int, Tensor], Tensor]  # (rank, model) -> the way it goes


def noise(rank: int, spec: BucketSpec = MATRIX, seed: int = 0) -> Tensor:
    return torch.randn(spec.numel, generator=torch.Generator().manual_seed(1000 * seed + rank)).to(spec.dtype)


@dataclass
class Village:
    """All start at zero, equal as `laconic.distribute` makes them; `scatter` lets every worker go its own way once."""

    topology: Gossip
    world: int
    compress: AbstractCompressor = field(default=Identity())
    spec: BucketSpec = MATRIX
    models: list[Tensor] = field(init=False)
    states: list[Any] = field(init=False)
    links: list[Link] = field(init=False)
    turns: int = 0

    def __post_init__(self) -> None:
        letters.check(self.compress, self.topology.by)
        self.topology = self.topology.settle(self.world)
        self.seats = [Seat(rank, self.world, self.topology, seed=7, checksum=True) for rank in range(self.world)]
        self.models = [torch.zeros(self.spec.numel, dtype=self.spec.dtype) for _ in self.seats]
        hoods = [self._hood(rank) for rank in range(self.world)]
        by = self.topology.by
        starts = zip(self.models, self.seats, hoods, strict=True)
        self.states = [by.init(x, self.spec, seat, hood) for x, seat, hood in starts]
        self.links = [Link() for _ in self.seats]

    def _hood(self, rank: int) -> Any:
        return self.topology.graph.weights(self.world, self.turns, 7).around(rank)

    def round(self, step: Step | None = None) -> None:
        if step is not None:
            self.models = [x + step(rank, x) for rank, x in enumerate(self.models)]
        by, programs = self.topology.by, []
        for rank, (x, state, seat) in enumerate(zip(self.models, self.states, self.seats, strict=True)):
            turn = Turn(seat, self.turns)
            at = Around(self.spec, turn, self._hood(rank), letters.desk(self.compress, by, self.spec, turn))
            programs.append(by.mix(x, state, at))
        out = lockstep(programs, self.links)
        self.models, self.states = [o.mean for o in out], [o.state for o in out]
        self.turns += 1

    def rounds(self, count: int) -> None:
        for _ in range(count):
            self.round()

    def scatter(self) -> Tensor:
        """One round in which every worker moves by noise of its own; the mean of that noise."""
        self.round(lambda rank, _: noise(rank, self.spec))
        return torch.stack([noise(rank, self.spec).double() for rank in range(self.world)]).mean(0)

    @property
    def table(self) -> Tensor:
        return torch.stack([x.double() for x in self.models])

    @property
    def mean(self) -> Tensor:
        return self.table.mean(0)

    @property
    def distance(self) -> float:
        """sqrt(1/n sum |x_i - mean|^2)."""
        return float((self.table - self.mean).square().sum(1).mean().sqrt())


def village(text: str, world: int, spec: BucketSpec = MATRIX) -> Village:
    plan = Plan.parse(text)
    assert isinstance(plan.topology, Gossip)
    return Village(plan.topology, world, plan.compress, spec)

"""A virtual world that runs one compressor: n seats, their states and links, step after step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from torch import Tensor

from laconic.compress import AbstractCompressor
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Seat, Turn
from laconic.drive.lockstep import lockstep
from laconic.net.link import Link
from laconic.topology import AllReduce
from tests.zoo import BUCKET, SEED, ZOO, noise

WORLDS = (1, 2, 3, 4, 5, 8)
# Claims are about steps after every warm-up; rare work is done at multiples of something, or in the step before: these
# two are prime, and 3 does not divide the steps after them.
LATE, LATER = 1_000_003, 1_000_039

over_the_zoo = pytest.mark.parametrize("entry", ZOO, ids=str)


@dataclass
class World:
    compressor: AbstractCompressor
    size: int
    route: str = "auto"
    spec: BucketSpec = BUCKET
    checksum: bool = False
    seed: int = SEED
    seats: list[Seat] = field(init=False)
    states: list[Any] = field(init=False)
    links: list[Link] = field(init=False)

    def __post_init__(self) -> None:
        topology = AllReduce(route_by=self.route)
        self.seats = [Seat(rank, self.size, topology, self.seed, checksum=self.checksum) for rank in range(self.size)]
        self.states = [self.compressor.init(self.spec, seat) for seat in self.seats]
        self.links = [Link() for _ in self.seats]

    def exchange(self, xs: Sequence[Tensor], step: int = 0, lr: float = 1.0) -> list[Exchanged]:
        programs = [
            self.compressor.exchange(x, state, self.spec, Turn(seat, step, lr))
            for x, state, seat in zip(xs, self.states, self.seats, strict=True)
        ]
        out = lockstep(programs, self.links)
        self.states = [o.state for o in out]
        return out

    def inputs(self, step: int = 0) -> list[Tensor]:
        """Every rank's own update of this step."""
        return [noise(self.spec.numel, 1000 * step + rank, self.spec.dtype) for rank in range(self.size)]


def routes(compressor: AbstractCompressor, spec: BucketSpec = BUCKET) -> tuple[str, ...]:
    """The ways messages of this compressor can go; what is summed on the way has only one."""
    return ("auto",) if compressor.traits(spec).linear else ("gather", "deal")

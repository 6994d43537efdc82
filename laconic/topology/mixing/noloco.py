"""NoLoCo: outer momentum without an all-reduce; in each round a worker agrees with one other, drawn by shared chance.

    D_i = x_i - p_i, the way since the last round from p_i;   over the neighbours and me, by their weights:  D, p
    m_i <- mu m_i + alpha D + gamma (p - p_i);   p_i <- p_i + m_i;   x_i <- p_i

Kolehmainen, Blagoev, Donaghy, Ersoy, Nies, 2025, arXiv:2506.10911: mu 0.5, alpha = gamma = 0.7, rounds every 50 steps
or so (`local(50) / gossip(random_pairs, noloco)`). Two models travel a round. With mu 0 and alpha = gamma = 1 it is
`dpsgd`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Seat
from laconic.topology.graph import Hood
from laconic.topology.mixing.base import AbstractMixing, Around, wide


class Slow(NamedTuple):
    place: Tensor  # p
    momentum: Tensor  # m


@dataclass(frozen=True)
class NoLoCo(AbstractMixing):
    """Outer momentum from rounds with a neighbour; no all-reduce."""

    momentum: float = 0.5  # mu
    lr: float = 0.7  # alpha
    pull: float = 0.7  # gamma

    name: ClassVar[str] = "noloco"
    paper: ClassVar[str] = "kolehmainen2025noloco"

    def __post_init__(self) -> None:
        if not (0 <= self.momentum < 1 and self.lr > 0 and 0 < self.pull <= 1):
            raise PlanError(
                f"{self}: the momentum is at least 0 and below 1, the rate above 0, the pull above 0 and at most 1."
            )

    def init(self, x: Tensor, spec: BucketSpec, seat: Seat, hood: Hood) -> Slow:
        start = x.to(wide(spec), copy=True)
        return Slow(start, torch.zeros_like(start))

    async def mix(self, x: Tensor, state: Slow, at: Around) -> Exchanged:
        kind = wide(at.spec)
        way = x.to(kind) - state.place
        desk = at.plain(kind, 2 * x.numel())
        both = torch.cat([way, state.place])
        heard = await at.tell(desk.write(both))
        mixed = at.pull(both, both, map(desk.read, heard))
        mean_way, mean_place = mixed.split(x.numel())
        momentum = self.momentum * state.momentum + self.lr * mean_way + self.pull * (mean_place - state.place)
        place = state.place + momentum
        return Exchanged(place.to(x.dtype), x, Slow(place, momentum))

    def plain_bytes(self, spec: BucketSpec) -> float:
        return 2 * super().plain_bytes(spec)

    def traits(self) -> dict[str, object]:
        return {"says": "two models", "graph": "any", "memory": "2 models"}

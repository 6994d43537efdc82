"""What two neighbours say when they meet, and what their models move by: pure bookkeeping, the same on both ends.

    whole          both say their models s and y;    I move by (theirs - mine) / 2
    differences    both keep h, what has been said of each other's model on this edge, equal at the start
                   q = C(x - h_me);   h_me <- h_me + q on both ends;   I move by gamma (h_them - h_me) / 2

Both ends know the same h, so the sum of the two models stays what it was, whatever C loses: CHOCO-SGD (Koloskova,
Stich, Jaggi, ICML 2019, arXiv:1902.00340) along one edge at a time, for pairs that do not wait for anybody. Two
copies of the model are kept an edge. Small buckets, which travel dense beside a compressor, are said whole. So is the
first word on an edge after models were loaded: they may differ, and differences that nobody has said would stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from laconic.compress.solo import Solo
from laconic.core.exchange import Seat, Turn

Edge = tuple[str, int]  # the neighbour, the bucket


class Speech:
    """`ways`: of each bucket; gamma counts where differences are said. Not safe for threads: its owner locks."""

    def __init__(self, seat: Seat | None = None, ways: Sequence[Solo] = (), gamma: float = 1.0) -> None:
        self._seat, self._ways, self._gamma = seat, list(ways), gamma
        self._start: list[Tensor] = []
        self._mine: dict[Edge, Tensor] = {}
        self._theirs: dict[Edge, Tensor] = {}
        self._count: dict[Edge, int] = {}

    def reset(self, models: Sequence[Tensor], *, equal: bool = True) -> None:
        """Go on from these. `equal`: they are the same on all workers."""
        self._start = [x.clone() for x in models] if self._ways and equal else []
        self._mine, self._theirs, self._count = {}, {}, {}

    def write(self, peer: str, bucket: int, model: Tensor) -> tuple[Tensor, int]:
        """What to tell the peer of my model, and the number of this message; 0: the whole model."""
        edge, way = (peer, bucket), self._way(bucket)
        if way is None or not (self._start or edge in self._mine):
            self._mine[edge] = model.clone()
            return model.clone(), 0
        number = self._count[edge] = self._count.get(edge, 0) + 1
        held, turn = self._held(self._mine, edge), self._turn(number)
        message, _ = way.write(model - held, torch.empty(0), turn)
        held += way.read(message, turn).to(held)
        return message, number

    def read(self, peer: str, bucket: int, message: Tensor, number: int) -> None:
        """Note what the peer told of its own."""
        edge, way = (peer, bucket), self._way(bucket)
        if way is None or number == 0:
            self._theirs[edge] = message.clone()
        else:
            held = self._held(self._theirs, edge)
            held += way.read(message, self._turn(number)).to(held)

    def change(self, peer: str, bucket: int) -> Tensor:
        """What my model moves by, now that both have spoken."""
        edge = peer, bucket
        gamma = 1.0 if self._way(bucket) is None else self._gamma
        return (self._theirs[edge] - self._mine[edge]) * (gamma / 2)

    def fits(self, bucket: int, message: Tensor, model: Tensor, number: int = 0) -> bool:
        """Could this be message `number` about that model?"""
        if self._way(bucket) is not None and number:
            return message.dtype == torch.uint8 and message.dim() == 1
        return message.shape == model.shape and message.dtype == model.dtype

    def _way(self, bucket: int) -> Solo | None:
        way = self._ways[bucket] if self._ways else None
        return None if way is None or way.codec is None else way

    def _held(self, side: dict[Edge, Tensor], edge: Edge) -> Tensor:
        if edge not in side:
            side[edge] = self._start[edge[1]].clone()
        return side[edge]

    def _turn(self, number: int) -> Turn:
        assert self._seat is not None, "differences are drawn from a seat's chance"
        return Turn(replace(self._seat, device=torch.device("cpu")), number)

"""SGP: stochastic gradient push. Sums and their weights are handed out; their quotient is the model.

    y_i <- y_i + d_i;   y_i <- sum_j P_ij y_j;   w_i <- sum_j P_ij w_j;   x_i = y_i / w_i          w starts at 1

Assran, Loizou, Ballas, Rabbat, ICML 2019, arXiv:1811.10792. Only the columns of P need to add up to one, so edges may
have a direction and ranks may send to more than they hear. sum_i w_i = n and sum_i y_i never change but by the steps
d (as taken at x; surveys that push gradients describe something else). A receiver knows P, so y and w travel
unscaled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Mean, Seat
from laconic.topology.graph import Hood
from laconic.topology.mixing.base import AbstractMixing, Around, wide


class Pushed(NamedTuple):
    y: Tensor
    w: Tensor


@dataclass(frozen=True)
class PushSum(AbstractMixing):
    """Push-sum: models and their weights are handed out, for directed graphs."""

    name: ClassVar[str] = "push_sum"
    paper: ClassVar[str] = "assran2019sgp"
    pushes: ClassVar[bool] = True

    def init(self, x: Tensor, spec: BucketSpec, seat: Seat, hood: Hood) -> Pushed:
        return Pushed(x.to(wide(spec), copy=True), torch.ones(1, dtype=wide(spec), device=x.device))

    async def mix(self, x: Tensor, state: Pushed, at: Around) -> Exchanged:
        mine = _sum_and_weight(x, state)
        desk = at.plain(mine.dtype, mine.numel())
        heard = await at.tell(desk.write(mine))
        mixed = at.share(mine, map(desk.read, heard))
        y, w = mixed[:-1], mixed[-1:]
        return Exchanged((y / w).to(x.dtype), x, Pushed(y, w))

    async def agree(self, x: Tensor, state: Pushed) -> Exchanged:
        mean = await Mean(_sum_and_weight(x, state))
        y, w = mean[:-1], mean[-1:]
        return Exchanged((y / w).to(x.dtype), x, Pushed(y, w))

    def plain_bytes(self, spec: BucketSpec) -> float:
        return (spec.numel + 1) * wide(spec).itemsize

    def traits(self) -> dict[str, object]:
        return {"says": "the model and its weight", "graph": "any, columns add up to one", "memory": "1 model"}


def _sum_and_weight(x: Tensor, state: Pushed) -> Tensor:
    """[y + d, w]: d is what the model has moved since it was y / w."""
    y = torch.cat([state.y, state.w])
    y[:-1] += x - (state.y / state.w).to(x.dtype)
    return y

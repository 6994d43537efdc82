"""ECD-PSGD: workers send an extrapolation of their model, compressed; what neighbours make of it gets better with time.

    x_i' = sum_j W_ij h_j + d_i;   z_i = (1 - t/2) x_i + (t/2) x_i';   x_i <- x_i'
    h_i <- (1 - 2/t) h_i + (2/t) C(z_i)   (on all who hear i)

Tang, Gan, Zhang, Zhang, Liu, NeurIPS 2018, arXiv:1803.06443, algorithm 2. t counts from 2, where z is the new model
itself (at t = 1 the weight of h would be negative). Without compression h_i = x_i. C must be unbiased; its noise
enters with 2/t, but z grows with t, so what is allowed is little (use choco for strong compressors). Kept are x_i and
sum_j W_ij h_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Seat
from laconic.topology.graph import Hood
from laconic.topology.mixing.base import AbstractMixing, Around


class Extrapolated(NamedTuple):
    x: Tensor
    mixed: Tensor  # sum_j W_ij h_j
    t: Tensor  # a whole number on the CPU


@dataclass(frozen=True)
class ECD(AbstractMixing):
    """Compressed extrapolations of the model; mild unbiased compressors."""

    name: ClassVar[str] = "ecd"
    paper: ClassVar[str] = "tang2018dcd"
    compresses: ClassVar[bool] = True
    unbiased: ClassVar[bool] = True
    fixed: ClassVar[bool] = True

    def init(self, x: Tensor, spec: BucketSpec, seat: Seat, hood: Hood) -> Extrapolated:
        start = x.to(torch.float64, copy=True)
        return Extrapolated(start, start.clone(), torch.tensor(2))

    async def mix(self, x: Tensor, state: Extrapolated, at: Around) -> Exchanged:
        t = int(state.t)
        new = state.mixed + (x - state.x.to(x.dtype))
        message = at.desk.write(torch.lerp(state.x, new, t / 2))
        said = at.desk.read(message)
        heard = await at.tell(message)
        start = said.to(torch.float64)
        mixed = torch.lerp(state.mixed, at.pull(start, start, map(at.desk.read, heard)), 2 / t)
        return Exchanged(new.to(x.dtype), said, Extrapolated(new, mixed, torch.tensor(t + 1)))

    def traits(self) -> dict[str, object]:
        return {"says": "a compressed extrapolation", "graph": "static", "memory": "2 models in float64"}

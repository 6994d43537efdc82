"""DCD-PSGD: workers hold exact copies of their neighbours and send how their own model changes, compressed.

    z_i = sum_j W_ij x_j + d_i - x_i;   q_i = C(z_i);   x_i <- x_i + q_i   (on i and on all who hear i)

Tang, Gan, Zhang, Zhang, Liu, NeurIPS 2018, arXiv:1803.06443, algorithm 1. d is the worker's own step, combined with,
not mixed. C must be unbiased, and mild: with noise E|C(z)-z|^2 <= a^2 |z|^2 the proof needs (1 - rho)^2 > 4 mu^2 a^2,
mu the largest |1 - lambda(W)|; beyond, it diverges (use choco). Kept are x_i and sum_j W_ij (x_j - x_i), in float64
as in choco.
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


class Tracked(NamedTuple):
    x: Tensor  # my model as my neighbours know it
    pull: Tensor  # sum_j W_ij (x_j - x_i)


@dataclass(frozen=True)
class DCD(AbstractMixing):
    """Compressed changes to exact copies of the neighbours; mild unbiased compressors."""

    name: ClassVar[str] = "dcd"
    paper: ClassVar[str] = "tang2018dcd"
    compresses: ClassVar[bool] = True
    unbiased: ClassVar[bool] = True
    fixed: ClassVar[bool] = True

    def init(self, x: Tensor, spec: BucketSpec, seat: Seat, hood: Hood) -> Tracked:
        start = x.to(torch.float64, copy=True)
        return Tracked(start, torch.zeros_like(start))

    async def mix(self, x: Tensor, state: Tracked, at: Around) -> Exchanged:
        step = x - state.x.to(x.dtype)
        message = at.desk.write(state.pull + step)
        said = at.desk.read(message)
        heard = await at.tell(message)
        new = state.x + said
        pull = at.pull(state.pull, said, map(at.desk.read, heard))
        return Exchanged(new.to(x.dtype), said, Tracked(new, pull))

    def traits(self) -> dict[str, object]:
        return {"says": "a compressed change", "graph": "static", "memory": "2 models in float64"}

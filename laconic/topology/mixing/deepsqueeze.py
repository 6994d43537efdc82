"""DeepSqueeze: the model itself is compressed, with an error memory.

    v_i = x_i + e_i;   q_i = C(v_i);   e_i <- v_i - q_i;   x_i <- x_i + gamma (sum_j W_ij q_j - q_i)

Tang, Lian, Qiu, Yuan, Zhang, Zhang, Liu, arXiv:1907.07346, 2019. x is the model after the worker's own step. Any
contraction C; one memory and no copies of neighbours, so the graph may change. The mean never moves. It is whole
models that are compressed, not differences: with very sparse messages the memory holds many models' worth, and choco
is better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Seat
from laconic.topology.graph import Hood
from laconic.topology.mixing.base import AbstractMixing, Around, wide
from laconic.topology.mixing.choco import check_gamma


class Squeezed(NamedTuple):
    residual: Tensor


@dataclass(frozen=True)
class DeepSqueeze(AbstractMixing):
    """Compressed models with an error memory; any contraction, any graph."""

    gamma: float = 0.1

    name: ClassVar[str] = "deepsqueeze"
    paper: ClassVar[str] = "tang2019deepsqueeze"
    compresses: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_gamma(self, self.gamma)

    def init(self, x: Tensor, spec: BucketSpec, seat: Seat, hood: Hood) -> Squeezed:
        return Squeezed(torch.zeros(spec.numel, dtype=wide(spec), device=x.device))

    async def mix(self, x: Tensor, state: Squeezed, at: Around) -> Exchanged:
        v = state.residual + x
        message = at.desk.write(v)
        said = at.desk.read(message)
        heard = await at.tell(message)
        new = at.pull(x.to(v.dtype), said, map(at.desk.read, heard), self.gamma)
        return Exchanged(new.to(x.dtype), said, Squeezed(v.sub_(said)))

    def traits(self) -> dict[str, object]:
        return {"says": "a compressed model", "graph": "any", "memory": "1 model"}

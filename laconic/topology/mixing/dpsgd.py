"""D-PSGD: average whole models with the neighbours.

    x_i <- sum_j W_ij (x_j + d_j)                      d: the worker's own step, adapt then combine

Lian, Zhang, Zhang, Hsieh, Zhang, Liu, NeurIPS 2017, arXiv:1705.09056. Differs: the paper combines the models before
the step and adds the step to the result; with equal weights for everyone the order here equals BSP exactly, that one
does not. Any graph with columns and rows that add up to one, also a directed or changing one: the mean stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged
from laconic.topology.mixing.base import AbstractMixing, Around, wide


@dataclass(frozen=True)
class DPSGD(AbstractMixing):
    """Average whole models with the neighbours."""

    name: ClassVar[str] = "dpsgd"
    paper: ClassVar[str] = "lian2017dpsgd"

    async def mix(self, x: Tensor, state: Any, at: Around) -> Exchanged:
        desk = at.plain(x.dtype, x.numel())
        heard = await at.tell(desk.write(x))
        start = x.to(wide(at.spec))
        mixed = at.pull(start, start, map(desk.read, heard))
        return Exchanged(mixed.to(x.dtype), x, state)

    def plain_bytes(self, spec: BucketSpec) -> float:
        return spec.nbytes

    def traits(self) -> dict[str, object]:
        return {"says": "the model", "graph": "any", "memory": "none"}

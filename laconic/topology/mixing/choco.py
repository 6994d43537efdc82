"""CHOCO-SGD: neighbours keep a copy of my model that follows it by compressed differences.

    q_i = C(x_i - h_i);   h_i <- h_i + q_i   (on i and on all who hear i);   x_i <- x_i + gamma sum_j W_ij (h_j - h_i)

Koloskova, Stich, Jaggi, ICML 2019, arXiv:1902.00340; Koloskova, Lin, Stich, Jaggi, ICLR 2020, arXiv:1907.09356. x is
the model after the worker's own step. Any contraction C, biased ones too: the difference that was not sent stays in x
- h, so no error memory is needed. The mean never moves. Kept are h_i and sum_j W_ij (h_j - h_i), not every
neighbour's copy, both in float64: a rounding error in them would pull at the model in every round to come. So the
graph must stay the same. gamma = 1 suits no compression, about 0.5 sign, 0.05 to 0.4 a percent of the elements; where
it is too large, models run apart. An unbiased C with omega >= 1 is damped to C / (1 + omega).
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
from laconic.topology.mixing.base import AbstractMixing, Around


class Copies(NamedTuple):
    mine: Tensor  # h_i: what my neighbours hold of me
    pull: Tensor  # sum_j W_ij (h_j - h_i)


@dataclass(frozen=True)
class Choco(AbstractMixing):
    """Compressed differences to copies that neighbours keep; any contraction."""

    gamma: float = 0.1

    name: ClassVar[str] = "choco"
    paper: ClassVar[str] = "koloskova2019choco"
    compresses: ClassVar[bool] = True
    fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_gamma(self, self.gamma)

    def init(self, x: Tensor, spec: BucketSpec, seat: Seat, hood: Hood) -> Copies:
        start = x.to(torch.float64, copy=True)
        return Copies(start, torch.zeros_like(start))

    async def mix(self, x: Tensor, state: Copies, at: Around) -> Exchanged:
        message = at.desk.write(x - state.mine)
        said = at.desk.read(message)
        heard = await at.tell(message)
        pull = at.pull(state.pull, said, map(at.desk.read, heard))
        new = torch.add(x, pull, alpha=self.gamma)
        return Exchanged(new.to(x.dtype), said, Copies(state.mine + said, pull))

    def traits(self) -> dict[str, object]:
        return {"says": "a compressed difference", "graph": "static", "memory": "2 models in float64"}


def check_gamma(part: AbstractMixing, gamma: float) -> None:
    if not 0 < gamma <= 1:
        raise PlanError(f"{part.name}(gamma={gamma!r}): the step towards the neighbours is above 0 and at most 1.")

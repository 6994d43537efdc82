"""signSGD: the sign of every element; the update is the mean of all signs.

    mean = 1/n sum_i sgn(x_i)

Bernstein, Wang, Azizzadenesheli, Anandkumar, ICML 2018, arXiv:1802.04434. The size of the gradient is lost: the
learning rate must be 100 to 1000 times smaller than for SGD, and scaling every gradient changes nothing. It can stand
still where plain descent does not (Karimireddy et al., 2019); `ef(sign)` mends that. Messages are gathered, n-1 bits an
element; on the deal route counts of plus signs are added on the way, as whole numbers of just enough bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.compress.integer_sum import lane_bytes, total_of
from laconic.compress.one_shot import Owned
from laconic.compress.vote import AbstractVote
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Route, Turn


@dataclass(frozen=True)
class SignSGD(AbstractVote):
    """The mean of everyone's signs; the size of the update is lost."""

    zero: str = "plus"

    name: ClassVar[str] = "signsgd"
    paper: ClassVar[str] = "bernstein2018signsgd"

    def __post_init__(self) -> None:
        self.check_zero()

    async def exchange(self, x: Tensor, state: Owned, spec: BucketSpec, turn: Turn) -> Exchanged:
        if turn.seat.router.route(self.sparse, turn.world) is Route.GATHER:
            out = await super().exchange(x, state, spec, turn)
            return out._replace(mean=out.mean / turn.world)
        codes = (x >= 0).to(torch.int64) if self.zero == "plus" else x.sign().to(torch.int64) + 1
        total = await total_of(codes, self._high, turn)
        mean = (2 * total).to(torch.float32) / (self._high * turn.world) - 1
        return Exchanged(mean.to(x.dtype), self.sign(x), state)

    @property
    def _high(self) -> int:
        return 1 if self.zero == "plus" else 2

    def sum_bytes(self, numel: int, world: int) -> int:
        """What is added up on the way, on the deal route."""
        return lane_bytes(numel, self._high, world)

"""signSGD with majority vote: everyone applies the sign that most ranks have.

    update = sgn( sum_i sgn(x_i) ),   a tie is +1 (zero=plus) or 0 (zero=zero)

Bernstein, Zhao, Azizzadenesheli, Anandkumar, ICLR 2019, arXiv:1810.05291. One bit up and, on the deal route, one bit
down: owners of chunks count the votes and send the verdict. Fewer than half of the ranks may lie and change nothing
where the others agree. The update is not the mean of what was sent, and its size says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Tensor

from laconic.compress.base import Traits
from laconic.compress.one_shot import Owned
from laconic.compress.vote import AbstractVote
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Turn


@dataclass(frozen=True)
class Majority(AbstractVote):
    """The sign that most ranks have: one bit up, one bit down."""

    zero: str = "plus"

    name: ClassVar[str] = "majority"
    paper: ClassVar[str] = "bernstein2019majority"

    def __post_init__(self) -> None:
        self.check_zero()

    def traits(self, spec: BucketSpec) -> Traits:
        return replace(super().traits(spec), mean=False)

    async def exchange(self, x: Tensor, state: Owned, spec: BucketSpec, turn: Turn) -> Exchanged:
        out = await super().exchange(x, state, spec, turn)
        return out._replace(mean=self.sign(out.mean))  # a count where it was gathered, a verdict where it was dealt

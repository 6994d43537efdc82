"""DoubleSqueeze: both directions are compressed, and both keep their error.

    worker      p = x + e;          say C(p);   e <- p - C(p)
    owner       q = mean C(p) + E;  say C(q);   E <- q - C(q)           rank r owns chunk r

Tang, Yu, Lian, Zhang, Liu, ICML 2019, arXiv:1905.05957. It is `ef` on the deal route, which `allreduce` chooses by
itself for dense codes among more than two ranks; this name chooses it always, also for sparse codes and two ranks.
Then what is applied stays as sparse as what is sent: n k elements shrink to k again. x_t minus lr (mean e + E) is
where SGD without compression would be on the same gradients. E is cut by rank: another number of ranks cannot load
it. Under `ps` the owners are the servers, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from laconic.compress.base import AbstractCompressor, Traits
from laconic.compress.error_feedback import ErrorFeedback
from laconic.compress.memory import AbstractMemory
from laconic.compress.routed import seat_on, turn_on, two_way
from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Router, Seat, Turn


@dataclass(frozen=True)
class DoubleSqueeze(AbstractMemory):
    """Compress both ways, with an error memory at both ends."""

    inner: AbstractCompressor

    name: ClassVar[str] = "doublesqueeze"
    paper: ClassVar[str] = "tang2019doublesqueeze"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.inner.traits(one_tensor(1 << 20)).linear:
            raise PlanError(f"doublesqueeze({self.inner}): its messages are averaged on the way. Use ef({self.inner}).")

    @property
    def core(self) -> ErrorFeedback:
        core = super().core
        assert isinstance(core, ErrorFeedback), "none is linear, so it was refused"
        return core

    @property
    def routed(self) -> bool:
        return False

    def gathers(self, router: Router, world: int) -> bool:
        return False

    def traits(self, spec: BucketSpec) -> Traits:
        claims = super().traits(spec)
        return replace(claims, rounds=2 * claims.rounds, mean=False)  # what an owner says again is not the mean itself

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Any:
        return self.core.init(spec, seat_on(two_way(seat), seat))

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        return await self.core.exchange(x, state, spec, turn_on(two_way(turn.seat), turn))

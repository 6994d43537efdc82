"""LAGS: top-k with a ratio of its own for each bucket: as much as the next bucket's backward pass can hide.

    t(r) = latency + 64 (n-1) r d / rate;   r = the largest in low..high with t(r) <= backward time of the next bucket

Shi et al., LAGS-SGD, ECAI 2020, arXiv:1911.08727. While gradients of the next bucket are computed, the link carries
this one; the last bucket has nothing to hide behind and gets `low`. Backward time is taken as proportional to
elements (`backward_ns` an element: a measured pass divided by the parameters). All numbers are given, not measured,
so that ranks agree. Differs: buckets, not layers (one layer a bucket: `wfbp`); merging layers is the schedule's task
(so OMGS, which adds it, has no name here); time to select is not counted. Wrap it in `ef(...)`. The promise is that
of the smallest ratio.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from laconic.compress.base import AbstractCompressor, Traits
from laconic.compress.topk import TopK
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Route, Router, Seat, Turn


@dataclass(frozen=True)
class LAGS(AbstractCompressor):
    """Top-k whose ratio is what the backward pass can hide."""

    low: float = 0.001
    high: float = 0.1
    gbits: float = 1.0  # of the link, Gbit/s
    backward_ns: float = 10.0  # an element
    latency_us: float = 50.0

    name: ClassVar[str] = "lags"
    paper: ClassVar[str] = "shi2020layer"

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high <= 1:
            raise PlanError(f"lags(low={self.low!r}, high={self.high!r}): shares with 0 < low <= high <= 1.")
        if not (self.gbits > 0 and self.backward_ns >= 0 and self.latency_us >= 0):
            raise PlanError(
                f"lags(gbits={self.gbits!r}, backward_ns={self.backward_ns!r}, latency_us={self.latency_us!r}): "
                f"a rate is above 0, times are at least 0."
            )

    def at(self, spec: BucketSpec, world: int) -> TopK:
        """The top-k of this bucket."""
        hidden_s = 1e-9 * self.backward_ns * spec.followed_by - 1e-6 * self.latency_us
        dense_s = 64 * max(1, world - 1) * max(1, spec.numel) / (1e9 * self.gbits)
        return TopK(min(self.high, max(self.low, hidden_s / dense_s)))

    @property
    def spares_small(self) -> bool:
        return True

    @property
    def routed(self) -> bool:
        return True

    def gathers(self, router: Router, world: int) -> bool:
        return router.route(sparse=True, world=world) is Route.GATHER

    def traits(self, spec: BucketSpec) -> Traits:
        return TopK(self.low).traits(spec)

    def payload_bits(self, spec: BucketSpec) -> int:
        """At most: among two ranks, where the link is least busy."""
        return self.at(spec, 2).payload_bits(spec)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Any:
        return self.at(spec, seat.world).init(spec, seat, remember=remember)

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        return await self.at(spec, turn.world).exchange(x, state, spec, turn)

"""Selective compression: a tensor is compressed only where that is faster than sending it as it is.

    compress iff   overhead + e t_enc + c t_dec + m b/rate < 2(n-1)/n 32d/rate        d elements, b bits when compressed

                   m (moved)    e (encoded)    c (decoded)        among n ranks
    summed         2(n-1)/n     1              1
    dealt          2(n-1)/n     1 + 1/n        2                  chunks, then the owners' replies
    gathered       n-1          1              n-1                as most sparse messages are

Bai et al., HiPress (SeCoPa), SOSP 2021. Among many ranks a gathered message is no longer shorter than a sum: beyond
2 * 32d/b of them it moves more bits than sending the tensor as it is. t_enc and t_dec are 4d over a speed in bytes of
input a second (`laconic bench kernels` measures both); overhead is what every call costs. All are given, not measured,
so that ranks cannot disagree. Differs: messages through servers are counted as dealt ones; one rank alone decides as
two would; cutting tensors into parts that overlap is the schedule's task, so no number of parts is chosen. Traits and
bits are those of all tensors that some number of ranks would compress.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from laconic.compress.base import AbstractCompressor
from laconic.compress.identity import Identity
from laconic.compress.routed import Always
from laconic.compress.split import AbstractSplit, Piece
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Route, Router, Seat

WORLDS = tuple(2**i for i in range(1, 13))


class Cost(NamedTuple):
    """Of one rank: in tensors as they are, in messages, in passes over the input."""

    plain: float
    moved: float
    encoded: float
    decoded: float


@dataclass(frozen=True)
class Selective(AbstractSplit):
    """Compress a tensor only where the time saved on the link is more than the time spent."""

    inner: AbstractCompressor
    gbits: float = 1.0  # of the link, Gbit/s
    encode_gbytes: float = 2.0  # GB of input a second
    decode_gbytes: float = 2.0
    overhead_us: float = 50.0  # of one call

    name: ClassVar[str] = "selective"
    paper: ClassVar[str] = "bai2021hipress"

    def __post_init__(self) -> None:
        for key in ("gbits", "encode_gbytes", "decode_gbytes"):
            if not getattr(self, key) > 0:
                raise PlanError(f"selective({key}={getattr(self, key)!r}): a speed is above 0.")
        if not self.overhead_us >= 0:
            raise PlanError(f"selective(overhead_us={self.overhead_us!r}): a time is at least 0.")

    @property
    def spares_small(self) -> bool:
        return self.inner.spares_small

    @property
    def lossless(self) -> AbstractCompressor | None:
        return self.inner.lossless

    def pieces(self, spec: BucketSpec, seat: Seat | None = None) -> tuple[Piece, ...]:
        each = [spec.subset((i,), spec.part) for i in range(len(spec.shapes))]
        chosen = tuple(i for i, one in enumerate(each) if self._somewhere(one, seat))
        rest = tuple(i for i in range(len(spec.shapes)) if i not in set(chosen))
        base = 2 * spec.part + 1
        return (
            Piece(chosen, spec.subset(chosen, base), self.inner),
            Piece(rest, spec.subset(rest, base + 1), self.inner.lossless or Identity()),
        )

    def _somewhere(self, spec: BucketSpec, seat: Seat | None) -> bool:
        """Without a seat: does any number of ranks on any route compress this?"""
        if seat is not None:
            return self.pays(spec, seat.world, seat.router)
        return any(self.pays(spec, n, Always(route)) for n in WORLDS for route in (Route.GATHER, Route.DEAL))

    def pays(self, spec: BucketSpec, world: int, router: Router) -> bool:
        cost = self.cost(spec, max(2, world), router)
        work_s = spec.nbytes / 1e9 * (cost.encoded / self.encode_gbytes + cost.decoded / self.decode_gbytes)
        saved_bits = cost.plain * 8 * spec.nbytes - cost.moved * self.inner.payload_bits(spec)
        return 1e-6 * self.overhead_us + work_s < saved_bits / (1e9 * self.gbits)

    def cost(self, spec: BucketSpec, n: int, router: Router) -> Cost:
        shared = 2 * (n - 1) / n
        if self.inner.traits(spec).linear:
            return Cost(shared, shared, 1, 1)
        if self.inner.gathers(router, n):
            return Cost(shared, n - 1, 1, n - 1)
        return Cost(shared, shared, 1 + 1 / n, 2)

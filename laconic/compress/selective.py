"""Selective compression: a tensor is compressed only where that is faster than sending it as it is.

    compress iff   overhead + 4d/speed + b/rate < 32d/rate        d elements, b bits when compressed

Bai et al., HiPress (SeCoPa), SOSP 2021. Both sides move 2(n-1)/n of their bits (ring and deal), so that factor
cancels and every number of ranks decides alike; speed is that of encoding and decoding together (what `laconic bench
kernels` measures), in bytes of input a second; overhead is what every call costs. All are given, not measured, so
that ranks cannot disagree. Differs: cutting tensors into parts that overlap is the schedule's task, so no number of
parts is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.compress.base import AbstractCompressor
from laconic.compress.identity import Identity
from laconic.compress.split import AbstractSplit, Piece
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError


@dataclass(frozen=True)
class Selective(AbstractSplit):
    """Compress a tensor only where the time saved on the link is more than the time spent."""

    inner: AbstractCompressor
    gbits: float = 1.0  # of the link, Gbit/s
    gbytes: float = 1.0  # of encoding and decoding, GB of input a second
    overhead_us: float = 50.0  # of one call

    name: ClassVar[str] = "selective"
    paper: ClassVar[str] = "bai2021hipress"

    def __post_init__(self) -> None:
        for key in ("gbits", "gbytes"):
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

    def pieces(self, spec: BucketSpec) -> tuple[Piece, ...]:
        chosen = tuple(i for i in range(len(spec.shapes)) if self.pays(spec.subset((i,), spec.part)))
        rest = tuple(i for i in range(len(spec.shapes)) if i not in set(chosen))
        base = 2 * spec.part + 1
        return (
            Piece(chosen, spec.subset(chosen, base), self.inner),
            Piece(rest, spec.subset(rest, base + 1), self.inner.lossless or Identity()),
        )

    def pays(self, spec: BucketSpec) -> bool:
        work_s = 1e-6 * self.overhead_us + spec.nbytes / (1e9 * self.gbytes)
        saved_s = (8 * spec.nbytes - self.inner.payload_bits(spec)) / (1e9 * self.gbits)
        return work_s < saved_s

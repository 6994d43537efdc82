"""By tensor: every tensor is compressed by itself, as most papers print it; all share their rounds.

    C(x) = (C(x_1), ..., C(x_L))       topk(0.01) keeps 1% of each tensor, not of the bucket

Layer-wise against entire-model compression: Dutta et al., AAAI 2020, arXiv:1911.08250. The three granularities are
`by_tensor(c)` (tensor), `c` (bucket, the default: fewer messages, better for top-k) and `c / fused(bucket=1000GiB,
first=1000GiB)` (model, without overlap). Bounds hold tensor by tensor, so delta is the smallest of them. Each message
has its own header of 24 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.compress.base import AbstractCompressor
from laconic.compress.split import AbstractSplit, Piece
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Seat

_PARTS = 4096  # more than a bucket has tensors, so that parts of parts differ


@dataclass(frozen=True)
class ByTensor(AbstractSplit):
    """Compress each tensor of a bucket by itself."""

    inner: AbstractCompressor

    name: ClassVar[str] = "by_tensor"
    paper: ClassVar[str] = "dutta2020discrepancy"

    @property
    def spares_small(self) -> bool:
        return self.inner.spares_small

    @property
    def lossless(self) -> AbstractCompressor | None:
        return self.inner.lossless

    def pieces(self, spec: BucketSpec, seat: Seat | None = None) -> tuple[Piece, ...]:
        return tuple(
            Piece((i,), spec.subset((i,), _PARTS * (spec.part + 1) + i), self.inner) for i in range(len(spec.shapes))
        )

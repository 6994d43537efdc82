"""By shape: one compressor for matrices, another for the rest; both share their rounds.

    by_shape(powersgd(4), rest=fp16)

A matrix is a tensor of two or more dimensions: weights of linear, convolution and embedding layers. The rest
(biases, norm scales) is small and easily hurt. The two run side by side, so rounds are not added up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from laconic.compress.base import AbstractCompressor
from laconic.compress.identity import Identity
from laconic.compress.split import AbstractSplit, Piece
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Seat


@dataclass(frozen=True)
class ByShape(AbstractSplit):
    """Treat matrices and the rest of a bucket differently."""

    matrices: AbstractCompressor
    rest: AbstractCompressor = field(default=Identity())

    name: ClassVar[str] = "by_shape"

    def __post_init__(self) -> None:
        if self.matrices == self.rest:
            raise PlanError(f"{self}: matrices and the rest are treated alike. Use {self.rest}.")

    def pieces(self, spec: BucketSpec, seat: Seat | None = None) -> tuple[Piece, ...]:
        big = tuple(i for i, s in enumerate(spec.shapes) if len(s) >= 2)
        small = tuple(i for i, s in enumerate(spec.shapes) if len(s) < 2)
        base = 2 * spec.part + 1  # parts of parts get numbers of their own
        return (
            Piece(big, spec.subset(big, base), self.matrices),
            Piece(small, spec.subset(small, base + 1), self.rest),
        )

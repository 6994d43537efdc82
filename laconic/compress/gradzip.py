"""GradZip: one factor is fixed, the other is solved for and averaged; next step they change roles.

    even steps   Q fixed:  P_i = M_i Q (Q^T Q)^-1;   P = mean P_i;   M' = P Q^T,   sent_i = P_i Q^T
    odd steps    P fixed:  Q_i = M_i^T P (P^T P)^-1; Q = mean Q_i;   M' = P Q^T,   sent_i = P Q_i^T

Cho, Muthusamy, Nemanich, Puri, NeurIPS 2019 workshop (alternating least squares). One average of r rows or r columns
a step: half of PowerSGD's bytes and one round. Differs: the fixed factor is orthonormalised by QR, which is the same
projection without the paper's ridge lambda, and cannot get stuck where a factor loses rank or is zero. Vectors, and
matrices that would not shrink by at least 2x, travel dense in the same average. Uncertain: written from the abstract
and the catalogue, the paper's own code was not available; the method is patented (US 11182457).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, Grain, Traits, as_float32, back_to
from laconic.core.bucket import BucketSpec, flatten
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Mean, Seat, Turn
from laconic.core.matrices import as_matrix, shrinks, split_like
from laconic.core.rng import shared


class Factors(NamedTuple):
    left: tuple[Tensor, ...]  # one a compressed matrix, shape (rows, rank), orthonormal
    right: tuple[Tensor, ...]  # shape (columns, rank), orthonormal


@dataclass(frozen=True)
class GradZip(AbstractCompressor):
    """Low-rank factors, one side a step: half of PowerSGD's traffic."""

    rank: int = 4

    name: ClassVar[str] = "gradzip"
    paper: ClassVar[str] = "cho2019gradzip"

    def __post_init__(self) -> None:
        if not isinstance(self.rank, int) or self.rank < 1:
            raise PlanError(f"gradzip(rank={self.rank!r}): the rank is a whole number from 1 up.")

    def _low(self, spec: BucketSpec) -> list[bool]:
        return [shrinks(shape, self.rank) for shape in spec.shapes]

    def traits(self, spec: BucketSpec) -> Traits:
        # A projection never grows the error, but one step promises no fixed share of the norm.
        lossless = not any(self._low(spec))
        return Traits(
            unbiased=lossless,
            omega=0.0 if lossless else None,
            delta=1.0 if lossless else 0.0,
            linear=True,
            grain=Grain.TENSOR,
        )

    def payload_bits(self, spec: BucketSpec) -> int:
        """The mean of an even and an odd step."""
        return sum(
            16 * self.rank * sum(as_matrix(shape)) if low else 32 * size
            for shape, size, low in zip(spec.shapes, spec.sizes, self._low(spec), strict=True)
        )

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Factors:
        stream = shared(seat.seed, 0, spec.id, spec.part)
        left, right = [], []
        for i, (shape, low) in enumerate(zip(spec.shapes, self._low(spec), strict=True)):
            if low:
                rows, columns = as_matrix(shape)
                both = stream.child(i).normal((rows + columns) * self.rank, seat.device).view(-1, self.rank)
                left.append(_orthonormal(both[:rows]))
                right.append(_orthonormal(both[rows:]))
        return Factors(tuple(left), tuple(right))

    async def exchange(self, x: Tensor, state: Factors, spec: BucketSpec, turn: Turn) -> Exchanged:
        tensors, low = spec.views(as_float32(x)), self._low(spec)
        matrices = [t.reshape(as_matrix(t.shape)) for t, yes in zip(tensors, low, strict=True) if yes]
        dense = [t for t, yes in zip(tensors, low, strict=True) if not yes]
        even = turn.number % 2 == 0
        fixed = state.right if even else state.left
        # QR keeps the fixed factor orthonormal, so least squares is a product.
        solved = [m @ f if even else m.T @ f for m, f in zip(matrices, fixed, strict=True)]
        averaged = split_like(await Mean(flatten(solved + dense, as_float32(x))), solved + dense)
        n = len(solved)

        def rebuild(factors: list[Tensor], rest: list[Tensor]) -> Tensor:
            low_rank = iter([s @ f.T if even else f @ s.T for s, f in zip(factors, fixed, strict=True)])
            plain = iter(rest)
            return back_to(x.dtype, flatten([next(low_rank) if yes else next(plain) for yes in low], x))

        free = tuple(_orthonormal(s) for s in averaged[:n])
        factors = Factors(free, state.right) if even else Factors(state.left, free)
        return Exchanged(rebuild(averaged[:n], averaged[n:]), rebuild(solved, dense), factors)


def _orthonormal(factor: Tensor) -> Tensor:
    q: Tensor = torch.linalg.qr(factor).Q
    return q.contiguous()

"""PowerSGD: one step of power iteration per exchange, warm-started from the last one.

    P_i = M_i Q;   P = orth(mean P_i);   Q_i = M_i^T P;   Q = mean Q_i;   M' = P Q^T,   sent_i = P Q_i^T

Vogels, Karimireddy, Jaggi, NeurIPS 2019, arXiv:1905.13727, Algorithm 1. A tensor is the matrix (first
dimension) x (the rest). Vectors, and matrices that would not shrink by at least 2x, travel dense in the
first round. Both rounds are averages, so any all-reduce carries them. Differs: the local error is taken
against P Q_i^T (the rank mean is the same as with the averaged Q); Q starts from shared randomness.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, Grain, Traits, as_float32, back_to
from laconic.core.bucket import BucketSpec, Shape, flatten
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Mean, Seat, Turn
from laconic.core.matrices import as_matrix, shrinks, split_like
from laconic.core.rng import shared


class WarmStart(NamedTuple):
    q: tuple[Tensor, ...]  # one factor a compressed matrix, shape (columns, rank)


@dataclass(frozen=True)
class PowerSGD(AbstractCompressor):
    """Low-rank factors of each matrix, averaged on the way."""

    rank: int = 4

    name: ClassVar[str] = "powersgd"
    paper: ClassVar[str] = "vogels2019powersgd"

    def __post_init__(self) -> None:
        if not isinstance(self.rank, int) or self.rank < 1:
            raise PlanError(f"powersgd(rank={self.rank!r}): the rank is a whole number from 1 up.")

    def traits(self, spec: BucketSpec) -> Traits:
        # A projection never grows the error, but one step promises no fixed share of the norm.
        lossless = not any(self._shrinks(s) for s in spec.shapes)
        return Traits(
            unbiased=lossless,
            omega=0.0 if lossless else None,
            delta=1.0 if lossless else 0.0,
            linear=True,
            rounds=1 if lossless else 2,
            grain=Grain.TENSOR,
        )

    def payload_bits(self, spec: BucketSpec) -> int:
        return sum(32 * self._words(shape) for shape in spec.shapes)

    def _words(self, shape: Shape) -> int:
        rows, columns = as_matrix(shape)
        return self.rank * (rows + columns) if self._shrinks(shape) else rows * columns

    def _shrinks(self, shape: Shape) -> bool:
        return shrinks(shape, self.rank)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> WarmStart:
        stream = shared(seat.seed, 0, spec.id, spec.part)
        factors = []
        for i, shape in enumerate(spec.shapes):
            if self._shrinks(shape):
                columns = as_matrix(shape)[1]
                q = stream.child(i).normal(columns * self.rank, seat.device)
                factors.append(q.view(columns, self.rank))
        return WarmStart(tuple(factors))

    async def exchange(self, x: Tensor, state: WarmStart, spec: BucketSpec, turn: Turn) -> Exchanged:
        tensors = spec.views(as_float32(x))
        low = [self._shrinks(s) for s in spec.shapes]
        matrices = [t.reshape(as_matrix(t.shape)) for t, yes in zip(tensors, low, strict=True) if yes]
        dense = [t for t, yes in zip(tensors, low, strict=True) if not yes]

        first = [m @ q for m, q in zip(matrices, state.q, strict=True)]
        averaged = split_like(await Mean(flatten(first + dense, as_float32(x))), first + dense)
        basis = [torch.linalg.qr(p).Q for p in averaged[: len(first)]]
        own_q = [(p.T @ m).T for m, p in zip(matrices, basis, strict=True)]
        mean_q = own_q
        if own_q:
            mean_q = split_like(await Mean(flatten(own_q, own_q[0])), own_q)

        def rebuild(factors: list[Tensor], rest: list[Tensor]) -> Tensor:
            full, plain = iter(zip(basis, factors, strict=True)), iter(rest)
            pieces = []
            for yes in low:
                if yes:
                    p, q = next(full)
                    pieces.append(p @ q.T)
                else:
                    pieces.append(next(plain))
            return back_to(x.dtype, flatten(pieces, x))

        mean = rebuild(mean_q, averaged[len(first) :])
        return Exchanged(mean, rebuild(own_q, dense), WarmStart(tuple(q.clone() for q in mean_q)))

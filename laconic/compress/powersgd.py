"""PowerSGD: one step of power iteration per exchange, warm-started from the last one.

    P_i = M_i Q;   P = orth(mean P_i);   Q_i = M_i^T P;   Q = mean Q_i;   M' = P Q^T,   sent_i = P Q_i^T

Vogels, Karimireddy, Jaggi, NeurIPS 2019, arXiv:1905.13727, Algorithm 1. A tensor is the matrix (first
dimension) x (the rest). Vectors, and matrices that would not shrink by at least 2x, travel dense in the
first round. Both rounds are averages, so any all-reduce carries them. Differs: the local error is taken
against P Q_i^T (the rank mean is the same as with the averaged Q); Q starts from shared randomness, and the next
step starts from its vectors at length one, which changes no subspace: powers of huge matrices would overflow.

Factors are kept as rank x length, which is how products run through memory in order (`kernels/plain/lowrank.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import AbstractCompressor, Grain, Traits, as_float32, back_to
from laconic.core import memory
from laconic.core.bucket import BucketSpec, Shape, flatten
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Mean, Seat, Turn
from laconic.core.matrices import as_matrix, shrinks, split_like
from laconic.core.rng import shared


class WarmStart(NamedTuple):
    q: tuple[Tensor, ...]  # one factor a compressed matrix, shape (rank, columns)


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
                factors.append(_unit(q.view(self.rank, columns)))
        return WarmStart(tuple(factors))

    async def exchange(self, x: Tensor, state: WarmStart, spec: BucketSpec, turn: Turn) -> Exchanged:
        said = _Said(as_float32(x).contiguous(), spec, self._low(spec))
        return await self._exchange(said, state, x.dtype)

    async def remember(
        self, x: Tensor, residual: Tensor, damping: float, state: Any, spec: BucketSpec, turn: Turn
    ) -> tuple[Exchanged, Tensor]:
        """In three passes over memory: p = residual + x and its product; the second product; both results."""
        if damping != 1.0 or not (x.dtype == residual.dtype == torch.float32):
            return await super().remember(x, residual, damping, state, spec, turn)
        left = memory.empty(x.numel(), device=x.device)
        said = _Said(x.contiguous(), spec, self._low(spec), residual, left)
        return await self._exchange(said, state, x.dtype), left

    def _low(self, spec: BucketSpec) -> list[bool]:
        return [self._shrinks(s) for s in spec.shapes]

    async def _exchange(self, said: _Said, state: WarmStart, dtype: torch.dtype) -> Exchanged:
        first = said.first(state.q)
        averaged = split_like(await Mean(flatten(first, said.x)), first)
        basis = [kernel.orthonormal(p) for p in averaged[: len(state.q)]]
        own = [kernel.across(m, p) for m, p in zip(said.matrices, basis, strict=True)]
        mean_q = split_like(await Mean(flatten(own, own[0])), own) if own else []
        dense = averaged[len(basis) :]
        mean = said.last(basis, mean_q, own, dense)
        sent = said.sent(basis, own)
        q = tuple(_unit(q) for q in mean_q)
        return Exchanged(back_to(dtype, mean), lambda: back_to(dtype, sent()), WarmStart(q))


class _Said:
    """The matrices and vectors of a bucket that are said: those of x, or of residual + x, which `left` then holds."""

    def __init__(
        self, x: Tensor, spec: BucketSpec, low: list[bool], residual: Tensor | None = None, left: Tensor | None = None
    ) -> None:
        self.x, self.spec, self.low = x, spec, low
        self.left, self.residual = left, residual
        self.matrices, self.dense = self._views(x if left is None else left)

    def _views(self, flat: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Low-rank tensors as matrices, and the others as they are."""
        views = list(zip(self.spec.views(flat), self.low, strict=True))
        return [t.view(as_matrix(t.shape)) for t, yes in views if yes], [t for t, yes in views if not yes]

    def first(self, factors: tuple[Tensor, ...]) -> list[Tensor]:
        """The products with the last factors, and what travels dense."""
        if self.residual is None or self.left is None:
            return [kernel.along(m, q) for m, q in zip(self.matrices, factors, strict=True)] + self.dense
        xs, es = self._views(self.x), self._views(self.residual)
        for x, e, p in zip(xs[1], es[1], self.dense, strict=True):
            torch.add(e, x, out=p)
        return [
            kernel.along_keep(x, e, p, q) for x, e, p, q in zip(xs[0], es[0], self.matrices, factors, strict=True)
        ] + self.dense

    def last(self, basis: list[Tensor], mean_q: list[Tensor], own: list[Tensor], dense: list[Tensor]) -> Tensor:
        """The mean; and what was sent is taken out of `left`."""
        mean = memory.empty(self.x.numel(), device=self.x.device)
        matrices, vectors = self._views(mean)
        for to, t in zip(vectors, dense, strict=True):
            to.copy_(t)
        for out, m, p, q, mine in zip(matrices, self.matrices, basis, mean_q, own, strict=True):
            if self.left is None:
                kernel.rebuilt(out, p, q)
            else:
                kernel.rebuilt_keep(out, m, p, q, mine)
        return mean

    def sent(self, basis: list[Tensor], own: list[Tensor]) -> Callable[[], Tensor]:
        """What this rank's factors and vectors stand for, when it is asked for."""
        if self.left is not None:
            dense = [t.clone() for t in self.dense]
            for t in self.dense:
                t.zero_()
        else:
            dense = self.dense

        def decoded() -> Tensor:
            out = memory.empty(self.x.numel(), device=self.x.device)
            matrices, vectors = self._views(out)
            for to, t in zip(vectors, dense, strict=True):
                to.copy_(t)
            for to, p, q in zip(matrices, basis, own, strict=True):
                kernel.rebuilt(to, p, q)
            return out

        return decoded


def _unit(q: Tensor) -> Tensor:
    """Vectors at length one; those of nothing but zeros stay."""
    length = torch.linalg.vector_norm(q, dim=1, keepdim=True, dtype=torch.float64)
    unit: Tensor = q / length.clamp_min_(torch.finfo(torch.float32).tiny).to(torch.float32)
    return unit

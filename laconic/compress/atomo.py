"""Spectral ATOMO: a few singular triplets of each matrix, drawn so that the mean is right.

    M = sum_i lambda_i u_i v_i^T;   p_i = min(1, c lambda_i),  sum p_i = rank
    C(M) = sum over drawn i of (lambda_i/p_i) u_i v_i^T

Wang et al., NeurIPS 2018, arXiv:1806.04090. Unbiased; atoms are orthogonal, so E|C(M)-M|^2 = sum lambda_i^2 (1/p_i -
1), and as these p are the best, at most (min(n,m)/rank - 1) |M|^2. Differs: exactly `rank` atoms are drawn
(systematic sampling has the same p_i, hence the same mean and variance, and messages of one size; independent draws
may be empty); lambda_i/p_i travels inside u_i. Messages cannot be summed on the way and have no chunks, so they are
gathered on every route. Vectors, and matrices that would not shrink by 2x, are averaged in the same round. An SVD is
slow: small models only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from laconic.compress.base import AbstractCompressor, Grain, Traits, as_float32, back_to
from laconic.compress.identity import average
from laconic.compress.split import Piece, jointly, merged
from laconic.core.bucket import BucketSpec, flatten
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Gather, Router, Turn
from laconic.core.matrices import as_matrix, shrinks, split_like
from laconic.core.payload import Label, Part, method_tag, pack, unpack
from laconic.core.rng import Stream


@dataclass(frozen=True)
class Atomo(AbstractCompressor):
    """A few singular vectors of each matrix, drawn without bias."""

    rank: int = 3

    name: ClassVar[str] = "atomo"
    paper: ClassVar[str] = "wang2018atomo"

    def __post_init__(self) -> None:
        if not isinstance(self.rank, int) or self.rank < 1:
            raise PlanError(f"atomo(rank={self.rank!r}): the number of atoms is a whole number from 1 up.")

    def _low(self, spec: BucketSpec) -> list[bool]:
        return [shrinks(shape, self.rank) for shape in spec.shapes]

    def gathers(self, router: Router, world: int) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        atoms = [min(as_matrix(s)) for s, low in zip(spec.shapes, self._low(spec), strict=True) if low]
        omega = max(atoms, default=self.rank) / self.rank - 1
        return Traits(unbiased=True, omega=omega, delta=None, linear=not atoms, grain=Grain.TENSOR)

    def payload_bits(self, spec: BucketSpec) -> int:
        low, rest = self.pieces(spec)
        return 32 * (sum(self.rank * sum(as_matrix(s)) for s in low.spec.shapes) + rest.spec.numel)

    def pieces(self, spec: BucketSpec) -> tuple[Piece, Piece]:
        """Matrices that are said by atoms, and what travels dense."""
        low = self._low(spec)
        at = tuple(i for i, yes in enumerate(low) if yes), tuple(i for i, yes in enumerate(low) if not yes)
        return Piece(at[0], spec.subset(at[0], spec.part), self), Piece(at[1], spec.subset(at[1], spec.part), self)

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        views, (low, rest) = spec.views(as_float32(x)), self.pieces(spec)
        matrices = [views[i].reshape(as_matrix(views[i].shape)) for i in low.at]
        dense = flatten([views[i] for i in rest.at], as_float32(x))
        programs = [self._atoms(matrices, low.spec, turn)] if matrices else [_nothing(dense)]
        if rest.spec.numel or not matrices:
            programs.append(average(dense.clone()))
        outs = await jointly(*programs)
        averaged = outs[1].mean if len(outs) > 1 else dense
        mean = merged((low, rest), (outs[0].mean, averaged), x)
        sent = merged((low, rest), (outs[0].sent, dense), x)
        return Exchanged(back_to(x.dtype, mean), back_to(x.dtype, sent), state)

    async def _atoms(self, matrices: list[Tensor], spec: BucketSpec, turn: Turn) -> Exchanged:
        own = turn.own(spec)
        drawn = [half for i, m in enumerate(matrices) for half in draw(m, self.rank, own.child(i))]
        words = sum(half.numel() for half in drawn)
        label = Label(method_tag(str(self)), spec.id + 4096 * spec.part, turn.step, words)
        said = flatten(drawn, matrices[0])
        messages = await Gather(pack(label, 0, (said,), checksum=turn.seat.checksum))

        def read(message: Tensor) -> Tensor:
            _, (flat,) = unpack(message, label, lambda numel, _: (Part(torch.float32, numel),))
            halves = split_like(flat, drawn)
            return flatten([u @ v.T for u, v in zip(halves[::2], halves[1::2], strict=True)], flat)

        mean = torch.zeros(spec.numel, device=said.device)
        for message in messages:  # in rank order on every rank: the same sum, bit for bit
            mean.add_(read(message), alpha=1.0 / len(messages))
        return Exchanged(mean, read(messages[turn.rank]), ())


async def _nothing(empty: Tensor) -> Exchanged:
    return Exchanged(empty[:0], empty[:0], ())


def draw(matrix: Tensor, rank: int, stream: Stream) -> tuple[Tensor, Tensor]:
    """U (with lambda/p in it) and V of `rank` atoms; U V^T is the matrix on average."""
    top = matrix.abs().amax()
    unit = torch.where(top > 0, top, torch.ones_like(top))
    u, weights, vt = torch.linalg.svd(matrix / unit, full_matrices=False)
    p = probabilities(weights.double(), rank)
    start = float(stream.uniform(1))
    ticks = start + torch.arange(rank, dtype=torch.float64, device=p.device)
    at = torch.searchsorted(p.cumsum(0), ticks, right=True).clamp(max=len(p) - 1)
    scale = (weights[at] / p[at]).nan_to_num(0.0, 0.0, 0.0).to(matrix.dtype) * unit
    return u[:, at] * scale, vt[at].T.contiguous()


def probabilities(weights: Tensor, rank: int) -> Tensor:
    """p = min(1, c weights) that add up to rank; weights come sorted, the largest first."""
    p = torch.ones_like(weights)
    for sure in range(min(rank, len(weights))):
        rest = weights[sure:]
        total = float(rest.sum())
        if total == 0:
            p[sure:] = (rank - sure) / len(rest)
            break
        if (rank - sure) * float(rest[0]) <= total:
            p[sure:] = (rank - sure) * rest / total
            break
    else:
        p[rank:] = 0.0
    return p

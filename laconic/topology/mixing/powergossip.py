"""PowerGossip: two neighbours find the difference of their models by power iteration, a few vectors a round.

    for the edge of ranks a < b with weight w, for every matrix X, by turns:
        V orthonormal:   D = (X_a - X_b) V;     X_a <- X_a - w D V^T,   X_b <- X_b + w D V^T;   U <- orth(D)
        U orthonormal:   D = (X_a - X_b)^T U;   X_a <- X_a - w U D^T,   X_b <- X_b + w U D^T;   V <- orth(D)

Vogels, Karimireddy, Jaggi, NeurIPS 2020, arXiv:2008.01425. Both ends send X V (or X^T U) and see the same D, so what
one loses the other gains: the mean stays. No step size and no error memory. U and V belong to the edge and are
carried on, from shared chance at first; where models are equal (D = 0) they stay as they were. A tensor is the matrix
(first dimension) x (the rest); vectors, and matrices that would not shrink by half, are mixed whole. Differs: one
half-iteration a round, where the paper has up to 16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic.core.bucket import BucketSpec, flatten
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Post, Seat
from laconic.core.matrices import as_matrix, shrinks, split_like
from laconic.core.rng import shared
from laconic.topology.graph import Hood
from laconic.topology.mixing.base import AbstractMixing, Around, wide


class Factors(NamedTuple):
    left: Tensor  # U, rows x rank
    right: Tensor  # V, columns x rank


Edge = tuple[Factors, ...]  # one pair a compressed matrix


@dataclass(frozen=True)
class PowerGossip(AbstractMixing):
    """Low-rank differences along every edge, by power iteration."""

    rank: int = 2

    name: ClassVar[str] = "powergossip"
    paper: ClassVar[str] = "vogels2020powergossip"
    fixed: ClassVar[bool] = True
    paired: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.rank, int) or self.rank < 1:
            raise PlanError(f"powergossip(rank={self.rank!r}): the rank is a whole number from 1 up.")

    def init(self, x: Tensor, spec: BucketSpec, seat: Seat, hood: Hood) -> tuple[Edge, ...]:
        """For every neighbour."""
        return tuple(self._edge(spec, seat, tuple(sorted((hood.rank, other))), x.device) for other in hood.sources)

    def _edge(self, spec: BucketSpec, seat: Seat, ends: tuple[int, ...], device: torch.device) -> Edge:
        stream = shared(seat.seed, 0, spec.id, spec.part).child(ends[0]).child(ends[1])
        out = []
        for i, shape in enumerate(spec.shapes):
            if shrinks(shape, self.rank):
                sides = [(n, stream.child(2 * i + side)) for side, n in enumerate(as_matrix(shape))]
                random = [s.normal(n * self.rank, device).view(n, self.rank).to(wide(spec)) for n, s in sides]
                out.append(Factors(*(torch.linalg.qr(r).Q for r in random)))
        return tuple(out)

    async def mix(self, x: Tensor, state: tuple[Edge, ...], at: Around) -> Exchanged:
        low = [shrinks(shape, self.rank) for shape in at.spec.shapes]
        new = x.to(wide(at.spec), copy=True)
        mine = at.spec.views(new.clone())
        matrices = [t.view(as_matrix(t.shape)) for t, yes in zip(mine, low, strict=True) if yes]
        dense = [t for t, yes in zip(mine, low, strict=True) if not yes]
        by_right = at.turn.step % 2 == 0

        said = [_products(matrices, edge, by_right) + dense for edge in state]
        numel = sum(t.numel() for t in said[0]) if said else 0
        desk = at.plain(new.dtype, numel)
        messages = tuple(desk.write(flatten(vectors, new)) for vectors in said)
        lengths = tuple(m.numel() for m in messages)
        letters = await Post(messages, at.hood.sources, at.hood.sources, lengths)

        fresh, targets = [], at.spec.views(new)
        for edge, vectors, letter, other, weight in zip(
            state, said, letters, at.hood.sources, at.hood.weights, strict=True
        ):
            theirs = split_like(desk.read(letter), vectors)
            sign = 1.0 if at.hood.rank < other else -1.0
            gaps = [(a - b).mul_(sign) for a, b in zip(vectors, theirs, strict=True)]  # the same bits on both ends
            factors, apart = iter(edge), iter(gaps[: len(edge)])
            plain = iter(gaps[len(edge) :])
            pairs = []
            for target, yes in zip(targets, low, strict=True):
                if yes:
                    pair, gap = next(factors), next(apart)
                    step = gap @ pair.right.T if by_right else pair.left @ gap.T
                    pairs.append(_carried_on(pair, gap, by_right))
                else:
                    step = next(plain)
                target.sub_(step.view(target.shape), alpha=sign * weight)
            fresh.append(tuple(pairs))
        return Exchanged(new.to(x.dtype), x, tuple(fresh))

    def plain_bytes(self, spec: BucketSpec) -> float:
        """X V and X^T U by turns, and whole what does not shrink."""
        low = [self.rank * sum(as_matrix(s)) / 2 if shrinks(s, self.rank) else math.prod(s) for s in spec.shapes]
        return sum(low) * wide(spec).itemsize

    def traits(self) -> dict[str, object]:
        return {"says": "rank vectors a matrix and edge", "graph": "static, undirected", "memory": "vectors an edge"}


def _products(matrices: list[Tensor], edge: Edge, by_right: bool) -> list[Tensor]:
    if by_right:
        return [m @ pair.right for m, pair in zip(matrices, edge, strict=True)]
    return [m.T @ pair.left for m, pair in zip(matrices, edge, strict=True)]


def _carried_on(pair: Factors, gap: Tensor, by_right: bool) -> Factors:
    if not bool(gap.any()):
        return pair
    basis = torch.linalg.qr(gap).Q
    return Factors(basis, pair.right) if by_right else Factors(pair.left, basis)

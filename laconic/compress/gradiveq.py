"""GradiVeQ: gradients of neighbouring weights move together; only their principal components are averaged.

    the bucket is cut into slices of K elements;   C(x) = U U^T x per slice,   U: K x d, orthonormal
    collect steps:  dense;  S <- S + sum of s s^T over slices s of the mean;   then U = the d leading eigenvectors of S
    use steps:      only U^T x travels and is averaged on the way;   and again

Yu et al., NeurIPS 2018, arXiv:1811.03617. Linear, so compressing commutes with averaging. Differs: U comes from the
mean, which is equal on all ranks, so nobody sends it; components are those of S without subtracting the slices' mean
(then C is a projection, zero stays zero, and an error memory can stand around it, which the paper has not); slices
are cut from the flat bucket, not filter by filter; d is fixed, not chosen by energy. Before the first collection U
picks the first d elements. The last slice is padded with zeros. Uncertain: the lengths of the phases are the
catalogue's guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from laconic.compress.base import AbstractCompressor, Grain, Traits, as_float32, back_to
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Mean, Seat, Turn


class Basis(NamedTuple):
    moment: Tensor  # S, K x K
    vectors: Tensor  # U, K x d


@dataclass(frozen=True)
class GradiVeQ(AbstractCompressor):
    """Principal components of slices, learnt now and then from dense steps."""

    dims: int = 64  # d
    slice: int = 512  # K
    collect: int = 100  # steps
    use: int = 400  # steps

    name: ClassVar[str] = "gradiveq"
    paper: ClassVar[str] = "yu2018gradiveq"

    def __post_init__(self) -> None:
        if not 1 <= self.dims < self.slice:
            raise PlanError(f"gradiveq(dims={self.dims}): from 1 to {self.slice - 1}, below the slice of {self.slice}.")
        if self.collect < 1 or self.use < 1:
            raise PlanError(f"gradiveq(collect={self.collect}, use={self.use}): both last a step at least.")

    def _slices(self, spec: BucketSpec) -> int:
        return -(-spec.numel // self.slice)

    def _dense(self, spec: BucketSpec) -> bool:
        """Is a bucket so short that components would be no fewer than elements?"""
        return self.dims * self._slices(spec) >= spec.numel

    def traits(self, spec: BucketSpec) -> Traits:
        exact = self._dense(spec)
        return Traits(
            unbiased=exact,
            omega=0.0 if exact else None,
            delta=1.0 if exact else 0.0,  # a projection; what it keeps depends on the gradients
            linear=True,
            grain=Grain.BUCKET,
        )

    def payload_bits(self, spec: BucketSpec) -> int:
        """While the components are in use; 32 an element while they are learnt."""
        return 32 * (spec.numel if self._dense(spec) else self.dims * self._slices(spec))

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Basis:
        size = 0 if self._dense(spec) else self.slice
        moment = torch.zeros(size, size, device=seat.device)
        return Basis(moment, torch.eye(size, min(size, self.dims), device=seat.device))

    async def exchange(self, x: Tensor, state: Basis, spec: BucketSpec, turn: Turn) -> Exchanged:
        phase = turn.number % (self.collect + self.use)
        if self._dense(spec):
            return Exchanged(
                back_to(x.dtype, await Mean(as_float32(x).clone())), back_to(x.dtype, as_float32(x)), state
            )
        if phase < self.collect:
            mean = await Mean(as_float32(x).clone())
            kept = self._learn(mean, state, phase)
            return Exchanged(back_to(x.dtype, mean), back_to(x.dtype, as_float32(x)), kept)
        said = self._rows(as_float32(x)) @ state.vectors
        sent = self._rebuild(said, state, spec)
        mean = self._rebuild(await Mean(said), state, spec)
        return Exchanged(back_to(x.dtype, mean), back_to(x.dtype, sent), state)

    def _rows(self, flat: Tensor) -> Tensor:
        return pad(flat, (0, -flat.numel() % self.slice)).view(-1, self.slice)

    def _rebuild(self, said: Tensor, state: Basis, spec: BucketSpec) -> Tensor:
        return (said @ state.vectors.T).view(-1)[: spec.numel]

    def _learn(self, mean: Tensor, state: Basis, phase: int) -> Basis:
        rows = self._rows(mean)
        top = rows.abs().amax()
        rows = rows / torch.where(top > 0, top, torch.ones_like(top))  # directions count, and squares stay finite
        moment = rows.T @ rows + (0 if phase == 0 else state.moment)
        if phase < self.collect - 1:
            return Basis(moment, state.vectors)
        vectors = leading(moment)[:, : self.dims].contiguous()
        return Basis(moment, vectors)


def leading(moment: Tensor) -> Tensor:
    """Eigenvectors, the largest eigenvalue's first; in double, where repeated and tiny eigenvalues do no harm."""
    vectors: Tensor = torch.linalg.eigh(moment.double()).eigenvectors
    return vectors.flip(1).to(moment.dtype)

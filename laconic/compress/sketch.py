"""Sketched-SGD: count sketches are averaged on the way; what looks large in their mean is then averaged exactly.

    S[j, h_j(i)] += s_j(i) x_i   for `rows` hashes h_j into c columns and signs s_j, the same on every rank
    1  S <- mean of S;   estimate of element i:  the median over j of s_j(i) S[j, h_j(i)]
    2  the exact mean of the 4k elements of largest estimate;   the k largest of those are the result

Ivkin et al., NeurIPS 2019, arXiv:1903.04488. Both rounds are averages, so any all-reduce carries them: the only
sparsifier here that finds large elements of the mean rather than of a rank's gradient without sending indices. Each
row estimates without bias, with variance (|x|^2 - x_i^2)/c; a flat gradient has no large elements and the choice is
then poor, so no share of the norm is promised (delta = 0). Wrap it in `ef(...)`. c = ceil(width n); k should be below
c/10. Differs: hashes are drawn anew every step, so no two elements collide for good; the memory is of the gradient,
not of a sketch (FetchSGD).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import AbstractCompressor, Grain, Traits, as_float32, back_to, kept
from laconic.compress.sparse import check_ratio
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Mean, Turn
from laconic.core.rng import Stream

_CANDIDATES = 4


@dataclass(frozen=True)
class Sketch(AbstractCompressor):
    """Find the largest elements of the mean in a count sketch, then average those exactly."""

    ratio: float = 0.001
    width: float = 0.01
    rows: int = 5

    name: ClassVar[str] = "sketch"
    paper: ClassVar[str] = "ivkin2019communication"

    def __post_init__(self) -> None:
        check_ratio(self)
        if not 0 < self.width <= 1:
            raise PlanError(
                f"sketch(width={self.width!r}): the columns of the sketch are a share of the bucket above 0, at most 1."
            )
        if not isinstance(self.rows, int) or not 1 <= self.rows <= 15 or self.rows % 2 == 0:
            raise PlanError(f"sketch(rows={self.rows!r}): an odd number of rows, so that there is a median: 1 to 15.")

    @property
    def spares_small(self) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(unbiased=False, omega=None, delta=0.0, linear=True, rounds=2, grain=Grain.BUCKET)

    def payload_bits(self, spec: BucketSpec) -> int:
        return 32 * (self.rows * kept(self.width, spec.numel) + self._candidates(spec.numel))

    def _candidates(self, numel: int) -> int:
        return min(numel, _CANDIDATES * kept(self.ratio, numel))

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        x32 = as_float32(x)
        hashes = Hashes(turn.shared(spec), self.rows, kept(self.width, spec.numel))
        table = await Mean(hashes.sketch(x32))
        likely = kernel.largest(hashes.estimate(table, spec.numel), self._candidates(spec.numel))
        values = await Mean(x32[likely])
        best = kernel.largest(values, kept(self.ratio, spec.numel))
        at, zeros = likely[best], torch.zeros_like(x32)
        mean, sent = zeros.index_copy(0, at, values[best]), zeros.index_copy(0, at, x32[at])
        return Exchanged(back_to(x.dtype, mean), back_to(x.dtype, sent), state)


@dataclass(frozen=True)
class Hashes:
    """Which cell of each row an element falls into, and with which sign."""

    stream: Stream
    rows: int
    columns: int

    def _row(self, j: int, numel: int, device: torch.device) -> tuple[Tensor, Tensor]:
        words = self.stream.child(j).words(numel, device)
        return (words >> 1) * self.columns >> 31, (words & 1).to(torch.float32) * 2 - 1

    def sketch(self, x: Tensor) -> Tensor:
        table = torch.zeros(self.rows, self.columns, device=x.device)
        for j, row in enumerate(table):
            cells, signs = self._row(j, x.numel(), x.device)
            row.index_add_(0, cells, signs * x)
        return table

    def estimate(self, table: Tensor, numel: int) -> Tensor:
        guesses = []
        for j, row in enumerate(table):
            cells, signs = self._row(j, numel, table.device)
            guesses.append(signs * row[cells])
        return torch.stack(guesses).median(dim=0).values.nan_to_num()

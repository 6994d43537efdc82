"""TernGrad: three values, with one scale per tensor that all ranks share.

    g <- clip(x, -c rms, c rms);   M = max over ranks of max|g|;   k_j = sgn(g_j) [U < |g_j| / M];   mean = M/n sum k

    E|M k - g|^2 = M |g|_1 - |g|_2^2   exactly

Wen et al., NeurIPS 2017, arXiv:1705.07878. With the scale shared, ranks add small whole numbers (`integer_sum.py`),
which is the paper's parameter localisation. Unbiased for the clipped gradient: with clip=0 (off) for x itself. The
variance is relative to everyone's largest element, so no omega is claimed, and there is no error feedback. Differs:
clips at c times the root mean square, not the standard deviation, which would silence a tensor of equal elements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.compress.base import Grain, Traits
from laconic.compress.integer_sum import AbstractIntegerSum
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.kernels import reference_quant as quant


@dataclass(frozen=True)
class TernGrad(AbstractIntegerSum):
    """-M, 0 or M for each element, one M a tensor for all ranks; summed on the way."""

    clip: float = 2.5

    name: ClassVar[str] = "terngrad"
    paper: ClassVar[str] = "wen2017terngrad"
    steps: ClassVar[int] = 1  # not a choice here

    def __post_init__(self) -> None:
        if not (self.clip == 0 or 1 <= self.clip < math.inf):
            raise PlanError(f"terngrad(clip={self.clip!r}): clip at 1 or more times the rms, or 0 for never.")

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(unbiased=self.clip == 0, omega=None, delta=None, linear=True, rounds=2, grain=Grain.TENSOR)

    def groups(self, spec: BucketSpec) -> tuple[int, ...]:
        return spec.sizes

    def prepared(self, x: Tensor, spec: BucketSpec) -> tuple[Tensor, Tensor]:
        if not spec.sizes:
            return x, x
        clipped = [self._clipped(t.reshape(1, -1)) for t in spec.views(x)]
        scale = torch.cat([quant.largest_of(t) if t.numel() else x.new_zeros(1) for t in clipped])
        return torch.cat([t.view(-1) for t in clipped]), scale

    def _clipped(self, row: Tensor) -> Tensor:
        if not self.clip or not row.numel():
            return row
        edge = quant.l2_of(row) / math.sqrt(row.numel()) * self.clip
        return row.clamp(-edge, edge)

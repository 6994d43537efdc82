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

from laconic import kernels as kernel
from laconic.compress.base import Grain, Traits
from laconic.compress.integer_sum import AbstractIntegerSum
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.rng import Stream


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
        clipped = [self._clipped(t.reshape(-1)) for t in spec.views(x)]
        largest = [kernel.scales(t, t.numel(), "max") if t.numel() else x.new_zeros(1) for t in clipped]
        return torch.cat(clipped), torch.cat(largest)

    def _clipped(self, x: Tensor) -> Tensor:
        if not self.clip or not x.numel():
            return x
        edge = kernel.scales(x, x.numel(), "l2") / math.sqrt(x.numel()) * self.clip
        return x.clamp(-edge, edge)

    def rounded(self, ready: Tensor, scale: Tensor, spec: BucketSpec, stream: Stream) -> Tensor:
        codes = [ready[:0].to(torch.uint8)]
        for i, (t, m) in enumerate(zip(map(torch.flatten, spec.views(ready)), scale, strict=True)):
            packed = torch.empty(kernel.packed_bytes(t.numel(), 2), dtype=torch.uint8, device=t.device)
            kernel.quantize_to(t, m.view(1)[: t.numel()], packed, stream.child(i), 2, max(1, t.numel()))
            codes.append(kernel.unpack(packed, 2, t.numel()))
        return torch.cat(codes)

    def times(self, values: Tensor, scale: Tensor, spec: BucketSpec) -> Tensor:
        for t, m in zip(spec.views(values), scale, strict=True):
            t.mul_(m)
        return values

"""Random-k: k coordinates chosen by shared randomness, scaled so that the mean is right.

    C(x)_i = (n/k) x_i  if i in S_t  else 0,     S_t uniform over k-subsets, the same on every rank

Konecny et al., 2016, arXiv:1610.05492; Stich, Cordonnier, Jaggi, NeurIPS 2018, arXiv:1809.07599. Only
values travel (every rank derives S_t) and they are averaged on the way. Inside `ef(...)` it is damped by
k/n, which is exactly Stich's random-k with memory: the unscaled mask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import Draw, Grain, Traits, kept
from laconic.compress.shared_mask import AbstractSharedMask
from laconic.compress.sparse import check_ratio
from laconic.core.bucket import BucketSpec


@dataclass(frozen=True)
class RandomK(AbstractSharedMask):
    """Keep random elements, the same on every rank, without sending indices."""

    ratio: float = 0.01

    name: ClassVar[str] = "randomk"
    paper: ClassVar[str] = "stich2018sparsified"

    def __post_init__(self) -> None:
        check_ratio(self)

    def traits(self, spec: BucketSpec) -> Traits:
        omega = max(1, spec.numel) / max(1, self.count(spec.numel)) - 1
        return Traits(unbiased=True, omega=omega, delta=None, linear=True, grain=Grain.BUCKET)

    def count(self, numel: int) -> int:
        return kept(self.ratio, numel)

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        return kernel.subset(x, draw.shared, self.count(x.numel()))

    def scale(self, numel: int) -> float:
        return numel / max(1, self.count(numel))

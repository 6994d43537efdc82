"""Bernoulli sampling: every coordinate is kept by its own coin, the same coins on every rank.

    C(x)_i = x_i / ratio  with probability ratio  else 0

Konecny et al., 2016, arXiv:1610.05492 ("subsampling"). Unbiased, omega = 1/ratio - 1 exactly. Unlike `randomk` the
number of kept elements is random, but it is the same on every rank, so the values are still averaged on the way. It
takes a pass over the bucket for the coins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from laconic.compress.base import Draw, Grain, Size, Traits
from laconic.compress.shared_mask import AbstractSharedMask
from laconic.compress.sparse import check_ratio
from laconic.core.bucket import BucketSpec


@dataclass(frozen=True)
class Bernoulli(AbstractSharedMask):
    """Keep each element by a coin that all ranks share."""

    ratio: float = 0.01

    name: ClassVar[str] = "bernoulli"
    paper: ClassVar[str] = "konecny2016federated"

    def __post_init__(self) -> None:
        check_ratio(self)

    @property
    def varies(self) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        omega = 1 / self.ratio - 1
        return Traits(True, omega, None, linear=True, grain=Grain.BUCKET, size=Size.EXPECTED)

    def count(self, numel: int) -> int:
        return math.ceil(self.ratio * numel)

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        return (draw.shared.uniform(x.numel(), x.device) < self.ratio).nonzero().view(-1)

    def scale(self, numel: int) -> float:
        return 1 / self.ratio

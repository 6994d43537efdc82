"""Random mask ("structured update"): the update restricted to random coordinates, as it is.

    C(x)_i = x_i  if i in S_t  else 0,     S_t uniform over k-subsets, the same on every rank

E |x - C(x)|^2 = (1 - k/n) |x|^2. Konecny et al., 2016, arXiv:1610.05492. Unscaled, so biased: a coordinate moves k/n
as fast. `randomk` is the unbiased one; inside `ef(...)` the two are the same (Stich, Cordonnier, Jaggi, NeurIPS
2018). `ownmask` draws a mask a rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from laconic.compress.base import Draw, Grain, Traits, kept
from laconic.compress.shared_mask import AbstractSharedMask
from laconic.compress.sparse import check_ratio
from laconic.core.bucket import BucketSpec


@dataclass(frozen=True)
class RandomMask(AbstractSharedMask):
    """Keep random elements as they are, the same on every rank."""

    ratio: float = 0.01

    name: ClassVar[str] = "randommask"
    paper: ClassVar[str] = "konecny2016federated"

    def __post_init__(self) -> None:
        check_ratio(self)

    def traits(self, spec: BucketSpec) -> Traits:
        delta = self.count(spec.numel) / max(1, spec.numel)
        return Traits(unbiased=False, omega=None, delta=delta, linear=True, grain=Grain.BUCKET)

    def count(self, numel: int) -> int:
        return kept(self.ratio, numel)

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        return draw.shared.choice(x.numel(), self.count(x.numel()), x.device)

    def scale(self, numel: int) -> float:
        return 1.0

"""Own mask: each rank says random coordinates of its own choice, as they are.

    C_r(x)_i = x_i  if i in S_{t,r}  else 0,     S_{t,r} uniform over k-subsets, independent between ranks

Konecny et al., 2016, arXiv:1610.05492 ("random mask", one a client). A message is a 32-bit seed and k values; readers
derive the indices. With n ranks the mean covers about n times as many coordinates as `randommask`, at the price of a
gather. Unscaled, so biased; delta = k/n in expectation, with equality. Wrap it in `ef(...)`; scaled: `ibcd(block=1)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.compress.base import Grain, Traits, kept
from laconic.compress.own_choice import AbstractOwnChoice
from laconic.compress.sparse import check_ratio
from laconic.core.bucket import BucketSpec


@dataclass(frozen=True)
class OwnMask(AbstractOwnChoice):
    """Keep random elements as they are, others on every rank, told by a seed."""

    ratio: float = 0.01

    name: ClassVar[str] = "ownmask"
    paper: ClassVar[str] = "konecny2016federated"

    def __post_init__(self) -> None:
        check_ratio(self)

    def traits(self, spec: BucketSpec) -> Traits:
        delta = kept(self.ratio, spec.numel) / max(1, spec.numel)
        return Traits(unbiased=False, omega=None, delta=delta, linear=False, grain=Grain.BUCKET)

    @property
    def width(self) -> int:
        return 1

    def scale(self, numel: int) -> float:
        return 1.0

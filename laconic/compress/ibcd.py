"""Independent block coordinates: each rank says random blocks of its own choice, scaled so that the mean is right.

    C_r(x)_B = (m/t) x_B  if B in S_{t,r}  else 0,     S_{t,r} uniform over t of m blocks, independent between ranks

Mishchenko, Hanzely, Richtarik, UAI 2020, arXiv:1901.09437. Unbiased with omega = m/t - 1; averaging over n ranks
divides it by n, so t = m/n of the blocks suffice ("99% of worker-master communication is not needed" with 100 ranks;
a survey misprints m). A message is a 32-bit seed and the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.compress.base import Grain, Traits
from laconic.compress.own_choice import AbstractOwnChoice
from laconic.compress.sparse import check_ratio
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError


@dataclass(frozen=True)
class IBCD(AbstractOwnChoice):
    """Keep random blocks, others on every rank, told by a seed; unbiased."""

    ratio: float = 0.25
    block: int = 64

    name: ClassVar[str] = "ibcd"
    paper: ClassVar[str] = "mishchenko2020ninetynine"

    def __post_init__(self) -> None:
        check_ratio(self)
        if not isinstance(self.block, int) or self.block < 1:
            raise PlanError(f"ibcd(block={self.block!r}): a block is a whole number of elements from 1 up.")

    def traits(self, spec: BucketSpec) -> Traits:
        m, t = self.blocks(spec.numel)
        return Traits(unbiased=True, omega=max(1, m) / max(1, t) - 1, delta=None, linear=False, grain=Grain.BUCKET)

    @property
    def width(self) -> int:
        return self.block

    def scale(self, numel: int) -> float:
        m, t = self.blocks(numel)
        return m / max(1, t)

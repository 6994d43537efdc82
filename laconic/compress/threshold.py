"""Hard threshold: every element of at least a given magnitude, exactly; the rest waits in the error memory.

    C(x)_i = x_i  if |x_i| >= level  else 0          |x - C(x)|^2 <= (n - |S|) level^2

Strom, Interspeech 2015 (who sends +-level instead of the value); Sahu et al., NeurIPS 2021, arXiv:2108.00951: one
level for the whole training loses less in total than any fixed k. It is in the units of the gradient, so the number
of elements follows the gradient: 0 to all of them. Where that is many, the message changes its form (bitmap, dense),
so it is never longer than the dense gradient. The bound is absolute, not a share of the norm: delta = 0. Wrap it in
`ef(...)`; then a level that is too high only delays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Tensor

from laconic.compress.base import Draw, Grain, Traits
from laconic.compress.selected import AbstractSelected
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.kernels import reference_sparse as kernel


@dataclass(frozen=True)
class Threshold(AbstractSelected):
    """Keep every element of at least this magnitude."""

    level: float = 0.01

    name: ClassVar[str] = "threshold"
    paper: ClassVar[str] = "sahu2021rethinking"

    def __post_init__(self) -> None:
        if not 0 < self.level < math.inf:
            raise PlanError(
                f"threshold(level={self.level!r}): the smallest magnitude that is said must be above 0, in the units "
                f"of the gradient, for example threshold(0.01)."
            )

    def traits(self, spec: BucketSpec) -> Traits:
        return replace(super().traits(spec), grain=Grain.ELEMENT)

    def count(self, numel: int) -> int:
        return numel

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        return kernel.at_least(x, self.level)

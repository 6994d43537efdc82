"""GradDrop: drop all but the largest, by one threshold that a small sample of the elements suggests.

    t = the ceil(ratio m)-th largest |x| of m sampled elements;   C(x)_i = x_i  if |x_i| >= t,  at most k of them

Aji, Heafield, EMNLP 2017, arXiv:1704.05021. m = sample n, but at least 16/ratio elements (with fewer the threshold is
a guess); a bucket no longer than that is sorted out exactly. Where more than k = ceil(ratio n) elements reach the
threshold, the k largest of those are kept. Differs: one threshold a bucket, where the paper has one for all layers or
one a layer; the sample is without repetition, so at least ceil(ratio m) elements are said. Wrap it in `ef(...)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from laconic.compress.base import Draw, kept
from laconic.compress.selected import AbstractSelected
from laconic.compress.sparse import check_ratio
from laconic.core.errors import PlanError
from laconic.kernels import reference_sparse as kernel


@dataclass(frozen=True)
class GradDrop(AbstractSelected):
    """Keep about the largest elements, by a threshold from a sample."""

    ratio: float = 0.01
    sample: float = 0.001

    name: ClassVar[str] = "graddrop"
    paper: ClassVar[str] = "aji2017sparse"

    def __post_init__(self) -> None:
        check_ratio(self)
        check_sample(self.name, self.sample)

    def count(self, numel: int) -> int:
        return kept(self.ratio, numel)

    def least(self, numel: int) -> int:
        return kept(self.ratio, sampled(numel, self.ratio, self.sample))

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        n, k = x.numel(), self.count(x.numel())
        m = sampled(n, self.ratio, self.sample)
        if m >= n:
            return kernel.largest_nonzero(x, k)
        sample = x[draw.own.choice(n, m, x.device)]
        at = kernel.at_least(x, kernel.kth_size(sample, kept(self.ratio, m)))
        return kernel.largest_among(x, at, k)


def check_sample(name: str, sample: float) -> None:
    if not 0 < sample <= 1:
        raise PlanError(
            f"{name}(sample={sample!r}): the share of elements that are looked at must be above 0 and at most 1, "
            f"for example {name}(sample=0.01)."
        )


def sampled(numel: int, ratio: float, sample: float) -> int:
    """How many elements a threshold is estimated from."""
    return min(numel, max(kept(sample, numel), math.ceil(16 / ratio)))

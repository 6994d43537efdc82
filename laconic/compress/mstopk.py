"""MSTopK: exactly k elements, found by sampling thresholds instead of sorting.

    t(r) = a + r (b - a),  a = mean |x|, b = max |x|;   30 halvings of r give  upper:  at most k elements reach it
                                                                               lower:  at least k elements reach it
    keep all that reach the upper threshold and fill up to k from those between the two

Shi et al., MLSys 2021, arXiv:2010.10458. Differs: the band between the thresholds is filled up with its largest
elements, not with any run of them, so the result is top-k itself (delta = k/n even if few elements exceed the mean).
Passes over the data instead of a selection: for devices that compare faster than they sort. `hitopk` is the
collective of the same paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.compress.base import Draw, kept
from laconic.compress.selected import AbstractSelected
from laconic.compress.sparse import check_ratio
from laconic.kernels import reference_sparse as kernel

_HALVINGS = 30  # the paper's number of samplings


@dataclass(frozen=True)
class MSTopK(AbstractSelected):
    """Keep exactly the k largest elements, by sampled thresholds."""

    ratio: float = 0.01

    name: ClassVar[str] = "mstopk"
    paper: ClassVar[str] = "shi2021towards"

    def __post_init__(self) -> None:
        check_ratio(self)

    @property
    def varies(self) -> bool:
        return False

    def count(self, numel: int) -> int:
        return kept(self.ratio, numel)

    def least(self, numel: int) -> int:
        return self.count(numel)

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        size, k = x.abs(), self.count(x.numel())
        upper, lower = kernel.narrowest_thresholds(size, k, _HALVINGS)
        surely = size >= upper
        band = ((size >= lower) & ~surely).nonzero().view(-1)
        sure = surely.nonzero().view(-1)
        filled = kernel.largest_among(x, band, k - sure.numel())
        return torch.cat([sure, filled]).sort().values

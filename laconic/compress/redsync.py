"""RedSync: a threshold between mean and largest magnitude, found by halving, that leaves k to 2k elements.

    t(r) = a + r (b - a),  a = mean |x|, b = max |x|;  halve r in [0, 1] until  k <= |{ |x_i| >= t(r) }| <= 2k

Fang, Fu, Yang, Hsieh, JPDC 2019, arXiv:1808.04357. The selected elements contain the k largest. Where halving finds
none (many equal elements, or fewer than k above the mean) the k largest are taken exactly; so do ">=" and that
fallback mend the paper's strict ">", which selects nothing of a constant vector. Differs: the threshold is found anew
every step (the paper reuses it for 5), no momentum (see `dgc`), values are always sent (the paper may send one mean
of the positive and of the negative ones by turns), small tensors are spared by buckets, not by a size rule of its
own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from laconic.compress.base import Draw, kept
from laconic.compress.selected import AbstractSelected
from laconic.compress.sparse import check_ratio
from laconic.kernels import reference_sparse as kernel

_HALVINGS = 12  # of r: to a width below 0.001, the paper's stopping rule


@dataclass(frozen=True)
class RedSync(AbstractSelected):
    """Keep the k to 2k largest elements, by a threshold found by halving."""

    ratio: float = 0.01

    name: ClassVar[str] = "redsync"
    paper: ClassVar[str] = "fang2019redsync"

    def __post_init__(self) -> None:
        check_ratio(self)

    def count(self, numel: int) -> int:
        return min(numel, 2 * kept(self.ratio, numel))

    def least(self, numel: int) -> int:
        return kept(self.ratio, numel)

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        k = self.least(x.numel())
        threshold = kernel.bisected_threshold(x.abs(), k, self.count(x.numel()), _HALVINGS)
        return kernel.largest_nonzero(x, k) if threshold is None else kernel.at_least(x, threshold)

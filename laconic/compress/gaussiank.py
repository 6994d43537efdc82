"""Gaussian-k: the threshold that would leave k elements if they were normally distributed, corrected a few times.

    t = mean(x) + std(x) Phi^-1(1 - ratio/2);   C(x)_i = x_i  if |x_i| >= t
    up to four times:  t <- t/2 if fewer than 2k/3 are left,  t <- 3t/2 if more than 4k/3

Shi, Chu, Cheung, See, 2019, arXiv:1911.08772. Differs: where the corrections end outside [2k/3, 4k/3] (heavy tails, a
constant vector) the k largest are taken exactly, so the message is bounded and delta = 2k/(3n). Wrap it in `ef(...)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import torch
from torch import Tensor

from laconic.compress.base import Draw, kept
from laconic.compress.selected import AbstractSelected
from laconic.compress.sparse import check_ratio
from laconic.kernels import reference_sparse as kernel

_CORRECTIONS = 4


@dataclass(frozen=True)
class GaussianK(AbstractSelected):
    """Keep about the k largest elements, by a threshold for normally distributed ones."""

    ratio: float = 0.01

    name: ClassVar[str] = "gaussiank"
    paper: ClassVar[str] = "shi2019understanding"

    def __post_init__(self) -> None:
        check_ratio(self)

    def count(self, numel: int) -> int:
        k = kept(self.ratio, numel)
        return min(numel, max(k, 4 * k // 3))

    def least(self, numel: int) -> int:
        return -(-2 * kept(self.ratio, numel) // 3)

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        size, few, many = x.abs(), self.least(x.numel()), self.count(x.numel())
        threshold = self._threshold(x)
        for _ in range(_CORRECTIONS + 1):
            n = kernel.count_at_least(size, threshold)
            if few <= n <= many:
                return kernel.at_least(x, threshold)
            threshold *= 0.5 if n < few else 1.5
        return kernel.largest_nonzero(x, kept(self.ratio, x.numel()))

    def _threshold(self, x: Tensor) -> float:
        mean = kernel.mean_of(x)
        spread = math.sqrt(kernel.mean_of((x.to(torch.float64) - mean).pow_(2)))
        return mean + spread * NormalDist().inv_cdf(1 - self.ratio / 2)

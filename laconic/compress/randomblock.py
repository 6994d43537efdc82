"""Random block: one run of k neighbouring coordinates, from a shared random start, scaled so that the mean is right.

    C(x)_i = (n/k) x_i  if (i - start) mod n < k  else 0,     start uniform, the same on every rank

The cheapest random sparsifier: one random number a step, no gather of scattered elements. The run goes round the end
of the bucket, so that every coordinate is kept with probability k/n: unbiased, omega = n/k - 1 exactly. The "random
block" baseline of Vogels, Karimireddy, Jaggi, NeurIPS 2019, arXiv:1905.13727, who use it with a memory (`ef(...)`
damps it by k/n to the plain block) and without going round the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.compress.base import Draw, Grain, Traits, kept
from laconic.compress.shared_mask import AbstractSharedMask
from laconic.compress.sparse import check_ratio
from laconic.core.bucket import BucketSpec


@dataclass(frozen=True)
class RandomBlock(AbstractSharedMask):
    """Keep one run of neighbouring elements, the same on every rank, from a random start."""

    ratio: float = 0.01

    name: ClassVar[str] = "randomblock"
    paper: ClassVar[str] = "vogels2019powersgd"

    def __post_init__(self) -> None:
        check_ratio(self)

    def traits(self, spec: BucketSpec) -> Traits:
        omega = max(1, spec.numel) / max(1, self.count(spec.numel)) - 1
        return Traits(unbiased=True, omega=omega, delta=None, linear=True, grain=Grain.BUCKET)

    def count(self, numel: int) -> int:
        return kept(self.ratio, numel)

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        n, k = x.numel(), self.count(x.numel())
        start = int(draw.shared.words(1)) * n >> 32
        beyond = max(0, start + k - n)  # what goes round the end stands first
        lanes = torch.arange(k, device=x.device)
        return torch.cat([lanes[:beyond], lanes[: k - beyond] + start])

    def scale(self, numel: int) -> float:
        return numel / max(1, self.count(numel))

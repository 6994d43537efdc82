"""Fixed proportion: the same share of the positive and of the negative elements, each side with its mean.

    S+ = the ceil(ratio n+) largest of the n+ positive elements,  S- likewise of the negative ones
    C(x)_i = mean of x over S+ (or S-)  where i is in it,  else 0

    |x - C(x)|^2 = |x|^2 - |S+| mu+^2 - |S-| mu-^2,     delta >= ratio / n

Dryden, Jacobs, Moon, Van Essen, MLHPC 2016. One word of 32 bits an element (31 bits of index, the sign) and two
means. Differs: the two thresholds are found exactly, not on a sample; the message is gathered or dealt like any
other, where the paper has an all-reduce of its own. A side without elements sends none. Wrap it in `ef(...)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.compress.base import AbstractCodec, AbstractSelector, Draw, Grain, Size, Traits, kept
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.sparse import check_ratio, signed_indices, with_signs
from laconic.compress.staged import AbstractChooser, Choice, TwoMeans
from laconic.core.bucket import BucketSpec
from laconic.core.payload import Part
from laconic.kernels import reference, reference_sparse


@dataclass(frozen=True)
class Proportion(AbstractOneShot, AbstractChooser):
    """Keep a share of the positive and of the negative elements, with two values."""

    ratio: float = 1 / 64

    name: ClassVar[str] = "proportion"
    paper: ClassVar[str] = "dryden2016communication"
    sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_ratio(self)

    @property
    def varies(self) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        delta = self.ratio / max(1, spec.numel)
        return Traits(False, None, delta, linear=False, rounds=2, grain=Grain.BUCKET, size=Size.MOST)

    def payload_bits(self, spec: BucketSpec) -> int:
        return 64 + 32 * (kept(self.ratio, spec.numel) + 1)  # two shares are rounded up

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return Part(torch.float32, 2), Part(torch.int32, aux)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        sides = [self._side(x.clamp(min=0)), self._side(x.clamp(max=0))]
        means = [reference_sparse.mean_of(x[at]) for at in sides]
        at = torch.cat(sides)
        return at.numel(), (torch.tensor(means, dtype=torch.float32, device=x.device), with_signs(at, x[at] < 0))

    def _side(self, x: Tensor) -> Tensor:
        return reference.largest(x, kept(self.ratio, int(x.count_nonzero())))

    def stages(self) -> tuple[AbstractSelector, AbstractCodec]:
        return Choice(self, uncertain=True), TwoMeans()

    def most(self, numel: int) -> int:
        return min(numel, kept(self.ratio, numel) + 1)  # two shares are rounded up

    def chosen(self, x: Tensor) -> Tensor:
        return torch.cat([self._side(x.clamp(min=0)), self._side(x.clamp(max=0))]).sort().values

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = parts[0].new_zeros(numel)
        self.add(out, parts, aux, draw, 1.0)
        return out

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        means, words = parts
        at, negative = signed_indices(words, total.numel())
        total.index_add_(0, at, torch.where(negative, means[1], means[0]), alpha=weight)

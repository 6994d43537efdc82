"""Sparse binary compression: k elements of one sign, all with their mean; an index each and nothing else.

    mu+ = mean of the k largest x,   mu- = mean of the k largest -x
    C(x)_i = mu+  at the k largest x  if mu+ >= mu-,   -mu-  at the k smallest x  otherwise

    |x - C(x)|^2 = |x|^2 - k mu^2      (a projection: it never grows the error, but may capture nothing: delta = 0)

Sattler, Wiedemann, Müller, Samek, IJCNN 2019, arXiv:1805.08768. The paper sends the difference of several local steps
(`local(100) / ef(sbc(0.001) | golomb)`), codes the gaps of the indices (Golomb) and zeroes the momentum where
something was sent; the last two are separate things here. The values are one number already: nothing is quantized
afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.compress.base import AbstractCodec, AbstractSelector, Draw, Grain, Traits, kept
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.sparse import check_indices, check_ratio
from laconic.compress.staged import AbstractChooser, Choice, OneValue
from laconic.core.bucket import BucketSpec
from laconic.core.payload import Part
from laconic.kernels import reference_sparse as kernel


@dataclass(frozen=True)
class SBC(AbstractOneShot, AbstractChooser):
    """Keep elements of one sign with one value."""

    ratio: float = 0.01

    name: ClassVar[str] = "sbc"
    paper: ClassVar[str] = "sattler2019sparse"
    sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_ratio(self)

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(unbiased=False, omega=None, delta=0.0, linear=False, grain=Grain.BUCKET)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return Part(torch.float32, 1), Part(torch.int32, kept(self.ratio, numel))

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        at = self.chosen(x)
        value = torch.tensor([kernel.mean_of(x[at])], dtype=torch.float32, device=x.device)
        return at.numel(), (value, at.to(torch.int32))

    def chosen(self, x: Tensor) -> Tensor:
        k = kept(self.ratio, x.numel())
        high, low = (side.topk(k, sorted=False).indices for side in (x, -x))
        at = high if kernel.mean_of(x[high]) >= -kernel.mean_of(x[low]) else low
        return at.sort().values

    def stages(self) -> tuple[AbstractSelector, AbstractCodec]:
        return Choice(self), OneValue()

    def most(self, numel: int) -> int:
        return kept(self.ratio, numel)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = parts[0].new_zeros(numel)
        self.add(out, parts, aux, draw, 1.0)
        return out

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        value, at = parts
        at = check_indices(at, total.numel())
        total.index_add_(0, at, value.expand(at.numel()), alpha=weight)

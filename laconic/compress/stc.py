"""Sparse ternary compression: the k largest elements, all with their mean magnitude; an index and a sign each.

    C(x)_i = mu sign(x_i)  if |x_i| is among the k largest  else 0,     mu = their mean magnitude

    |x - C(x)|^2 = |x|^2 - k mu^2,     delta >= max(k/n^2, 1/(k n))

Sattler, Wiedemann, Müller, Samek, TNNLS 2019, arXiv:1903.02891. One word of 32 bits an element (31 bits of index, the
sign) and one magnitude; the paper codes the gaps of the indices (`stc(0.01) | golomb`). Both directions are
compressed when chunks are dealt: then owners keep the paper's server-side memory. Wrap it in `ef(...)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic.compress.base import AbstractCodec, AbstractSelector, Draw, Grain, Traits, kept
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.sparse import check_ratio, signed_indices, with_signs
from laconic.compress.staged import AbstractStaged, OneMagnitude
from laconic.compress.topk import TopK
from laconic.core.bucket import BucketSpec
from laconic.core.payload import Part
from laconic.kernels import reference, reference_sparse


@dataclass(frozen=True)
class STC(AbstractOneShot, AbstractStaged):
    """Keep the largest elements with one magnitude and their signs."""

    ratio: float = 0.01

    name: ClassVar[str] = "stc"
    paper: ClassVar[str] = "sattler2019robust"
    sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_ratio(self)

    def traits(self, spec: BucketSpec) -> Traits:
        n = max(1, spec.numel)
        k = kept(self.ratio, n)
        delta = max(k / n**2, 1 / (k * n))
        return Traits(unbiased=False, omega=None, delta=delta, linear=False, grain=Grain.BUCKET)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return Part(torch.float32, 1), Part(torch.int32, kept(self.ratio, numel))

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        at = reference.largest(x, kept(self.ratio, x.numel()))
        mu = torch.tensor([reference_sparse.mean_of(x[at].abs())], dtype=torch.float32, device=x.device)
        return at.numel(), (mu, with_signs(at, x[at] < 0))

    def stages(self) -> tuple[AbstractSelector, AbstractCodec]:
        return TopK(self.ratio), OneMagnitude()

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = parts[0].new_zeros(numel)
        self.add(out, parts, aux, draw, 1.0)
        return out

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        mu, words = parts
        at, negative = signed_indices(words, total.numel())
        total.index_add_(0, at, torch.where(negative, -mu, mu), alpha=weight)

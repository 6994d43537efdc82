"""Top-k: the k elements of largest magnitude, exactly; the rest waits in the error memory.

    C(x)_i = x_i  if |x_i| is among the k largest  else 0,     k = max(1, ceil(ratio n))

Aji, Heafield, EMNLP 2017, arXiv:1704.05021; Stich, Cordonnier, Jaggi, NeurIPS 2018, arXiv:1809.07599.
Differs: k of a whole bucket, not of each tensor; indices take 8.5 bits at 1% (`indices.py`), not 32. Wrap it in
`ef(...)`: alone it loses what it drops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress import indices
from laconic.compress.base import AbstractSelector, Draw, Entries, Grain, Traits, kept
from laconic.compress.one_shot import AbstractOneShot
from laconic.compress.sparse import check_ratio
from laconic.core.bucket import BucketSpec
from laconic.core.payload import Part


@dataclass(frozen=True)
class TopK(AbstractOneShot, AbstractSelector):
    """Keep the largest elements of a bucket, with indices of a byte or so."""

    ratio: float = 0.01

    name: ClassVar[str] = "topk"
    paper: ClassVar[str] = "aji2017sparse"
    sparse: ClassVar[bool] = True
    travels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_ratio(self)

    @property
    def bounded(self) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        delta = self.count(spec.numel) / max(1, spec.numel)
        return Traits(unbiased=False, omega=None, delta=delta, linear=False, grain=Grain.BUCKET)

    def count(self, numel: int) -> int:
        return kept(self.ratio, numel)

    def select(self, x: Tensor, draw: Draw) -> Tensor:
        return kernel.largest(x, self.count(x.numel()))

    def pick(self, x: Tensor, draw: Draw) -> tuple[Tensor, Tensor]:
        return kernel.select(x, self.count(x.numel()))

    @property
    def takes_sums(self) -> bool:
        return True

    def pick_keep(self, x: Tensor, residual: Tensor, left: Tensor, draw: Draw) -> tuple[Tensor, Tensor]:
        return kernel.select_keep(x, residual, left, self.count(x.numel()))

    def scale(self, numel: int) -> float:
        return 1.0

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        k = self.count(numel)
        return Part(torch.float32, k), indices.part(numel, k)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        at, values = self.pick(x, draw)
        return at.numel(), (values, indices.write(at, x.numel()))

    def encode_keep(
        self, x: Tensor, residual: Tensor, left: Tensor, damping: float, draw: Draw
    ) -> tuple[int, tuple[Tensor, ...]]:
        at, values = self.pick_keep(x, residual, left, draw)
        if damping != 1.0:
            kernel.scatter_add(left, at, values - damping * values, 1.0)
        return at.numel(), (values, indices.write(at, x.numel()))

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = parts[0].new_zeros(numel)
        self.add(out, parts, aux, draw, 1.0)
        return out

    def entries(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Entries:
        values, stream = parts
        return Entries(indices.read(stream, values.numel(), numel), values, 1.0)

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        self.entries(parts, total.numel(), aux, draw).add_to(total, weight)

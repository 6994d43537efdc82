"""Quantile quantization: bins that hold equally many elements; each element is said as the mean of its bin.

    edges = the k/q quantiles of x;   C(x)_i = mean of the bin of x_i,   q = 2^b bins

    |x - C(x)|^2 = |x|^2 - sum of n_b mu_b^2,    sum of C(x) = sum of x

Jiang, Fu, Yang, Cui, SketchML, SIGMOD 2018. Only its quantile quantizer: its MinMaxSketch of the bin numbers decodes
approximately and slowly, its delta-coded keys are a coding. A projection, so the error never grows, but no fixed share
is promised (delta = 0). Differs: quantiles are those of at most 2^14 evenly spaced elements, not of a streaming
sketch; equal elements always share a bin. One table of means per message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import Draw, Grain, Traits
from laconic.compress.blocked import check_bits, codes
from laconic.compress.one_shot import AbstractOneShot
from laconic.core.bucket import BucketSpec
from laconic.core.payload import Part

_SAMPLE = 1 << 14


@dataclass(frozen=True)
class Quantile(AbstractOneShot):
    """Bins of equally many elements; the number of its bin for each element."""

    bits: int = 8

    name: ClassVar[str] = "quantile"
    paper: ClassVar[str] = "jiang2018sketchml"

    def __post_init__(self) -> None:
        check_bits(self.name, self.bits, 1, 8)

    def bins(self, numel: int) -> int:
        return min(numel, 1 << self.bits)

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(unbiased=False, omega=None, delta=0.0, linear=False, grain=Grain.BUCKET)

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return Part(torch.float32, self.bins(numel)), codes(numel, self.bits)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        if not x.numel():
            return 0, (x, x.to(torch.uint8))
        bins, at = self.bins(x.numel()), torch.bucketize(x, self._edges(x), right=True)
        count = torch.bincount(at, minlength=bins).clamp_(min=1)
        share = x / count[at]  # divides first: the sum cannot overflow
        means = torch.zeros(bins, dtype=torch.float64, device=x.device).index_add_(0, at, share.double())
        return 0, (means.to(torch.float32), kernel.pack(at.to(torch.uint8), self.bits))

    def _edges(self, x: Tensor) -> Tensor:
        """The first element of every bin but the lowest."""
        sample = x[:: -(-x.numel() // _SAMPLE)].sort().values
        bins = self.bins(x.numel())
        return sample[torch.arange(1, bins, device=x.device) * sample.numel() // bins]

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        if not numel:
            return parts[0]
        means, packed = parts
        return means.index_select(
            0, kernel.unpack(packed, self.bits, numel).to(torch.int32).clamp_(max=means.numel() - 1)
        )

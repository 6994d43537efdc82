"""Signs alone: what signSGD, majority vote and Signum write. Votes are counted, in whole numbers, never averaged.

zero=plus    sgn(0) = +1, one bit an element
zero=zero    sign(0) = 0, five elements to a byte: what has no gradient does not move
"""

from __future__ import annotations

from abc import ABC

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import Draw, Traits
from laconic.compress.blocked import codes
from laconic.compress.one_shot import AbstractOneShot
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.payload import Part


class AbstractVote(AbstractOneShot, ABC):
    """Concrete classes have a field `zero`, and say what becomes of the count."""

    zero: str

    def check_zero(self) -> None:
        if self.zero not in ("plus", "zero"):
            raise PlanError(f"{self.name}(zero={self.zero!r}): zero counts as 'plus' (1 bit) or stays 'zero'.")

    def traits(self, spec: BucketSpec) -> Traits:
        """No bound: signs do not know how large the update was."""
        return Traits(unbiased=False, omega=None, delta=None, linear=False, zero=self.zero == "zero")

    def sign(self, x: Tensor) -> Tensor:
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype) if self.zero == "plus" else x.sign()

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return (codes(numel, 1) if self.zero == "plus" else Part(torch.uint8, kernel.trit_bytes(numel)),)

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        if self.zero == "plus":
            return 0, (kernel.pack((x >= 0).to(torch.uint8), 1),)
        packed = torch.empty(kernel.trit_bytes(x.numel()), dtype=torch.uint8, device=x.device)
        kernel.nearest_trits(x, x.new_zeros(1), packed, max(1, x.numel()))
        return 0, (packed,)

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        if self.zero == "plus":
            return kernel.unpack(parts[0], 1, numel).to(torch.float32) * 2 - 1
        out = torch.empty(numel, device=parts[0].device)
        kernel.ternary_unpack(out, out.new_ones(1), parts[0], max(1, numel), 1.0)
        return out

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        """Counts: a tie is exactly zero, whatever the order."""
        total.add_(self.decode(parts, total.numel(), aux, draw))

"""Sparsifiers that say what they select exactly: they choose, the message is written here.

    C(x)_i = x_i  if i in S(x)  else 0

Where the number of selected elements depends on the data, a message is as long as it must be and lengths are said
first (`core/exchange.py`). Such a projection never grows the error: delta >= 0 whatever S is, and delta = |S| / n if
S holds the |S| largest elements.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

import torch
from torch import Tensor

from laconic.compress import sparse_form
from laconic.compress.base import AbstractSelector, Draw, Grain, Size, Traits
from laconic.compress.one_shot import AbstractOneShot
from laconic.core.bucket import BucketSpec
from laconic.core.payload import Part


class AbstractSelected(AbstractOneShot, AbstractSelector, ABC):
    """Concrete classes write `count`, `select` and `least`."""

    sparse: ClassVar[bool] = True
    travels: ClassVar[bool] = True

    @property
    def varies(self) -> bool:
        return True

    def least(self, numel: int) -> int:
        """At least so many elements, the largest ones, are selected (or all that are not zero)."""
        return 0

    def scale(self, numel: int) -> float:
        return 1.0

    def traits(self, spec: BucketSpec) -> Traits:
        return Traits(
            unbiased=False,
            omega=None,
            delta=self.least(spec.numel) / max(1, spec.numel),
            linear=False,
            rounds=2 if self.varies else 1,
            grain=Grain.BUCKET,
            size=Size.MOST if self.varies else Size.EXACT,
        )

    def payload_bits(self, spec: BucketSpec) -> int:
        return 8 * sparse_form.nbytes(spec.numel, self.count(spec.numel))

    def layout(self, numel: int, aux: int) -> tuple[Part, ...]:
        return sparse_form.layout(numel, aux if self.varies else self.count(numel))

    def encode(self, x: Tensor, draw: Draw) -> tuple[int, tuple[Tensor, ...]]:
        at = self.select(x, draw)
        return at.numel(), sparse_form.write(at, x[at], x.numel())

    def decode(self, parts: tuple[Tensor, ...], numel: int, aux: int, draw: Draw) -> Tensor:
        out = parts[0].new_zeros(numel, dtype=torch.float32)
        self.add(out, parts, aux, draw, 1.0)
        return out

    def add(self, total: Tensor, parts: tuple[Tensor, ...], aux: int, draw: Draw, weight: float) -> None:
        k = aux if self.varies else self.count(total.numel())
        at, rows = sparse_form.read(parts, total.numel(), k)
        total.index_add_(0, at, rows.view(-1), alpha=weight)

"""Dynamic batch growth: ever larger batches instead of ever smaller rates, so that workers talk ever less per example.

    B_{t+1} = min(most, ceil(rate B_t)),   rate 1.02 to 1.1, at a fixed learning rate

CR-PSGD: Yu, Jin, ICML 2019, arXiv:1905.04346: a number of rounds that grows with the logarithm of the number of
examples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from laconic.core.errors import UsageError


@dataclass(frozen=True)
class Growth:
    """Batch sizes of one worker, round by round."""

    first: int
    rate: float = 1.05
    most: int = 1 << 16

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.most:
            raise UsageError(f"Batches from {self.first} to {self.most}: the first is at least 1 and at most the last.")
        if not 1 <= self.rate <= 16:
            raise UsageError(f"Batches that grow by {self.rate:g}: give a number from 1 to 16.")

    def __iter__(self) -> Iterator[int]:
        exact, size = Fraction(str(self.rate)), self.first
        while True:
            yield size
            size = min(self.most, math.ceil(exact * size))

    def rounds(self, examples: int) -> int:
        """How many batches it takes to see so many examples."""
        seen, count = 0, 0
        for size in self:
            if seen >= examples:
                break
            seen, count = seen + size, count + 1
        return count

"""AMQ: unbiased rounding to powers of one number p, which is fitted to the gradients.

    levels  p^s, ..., p^2, p, 1  and their negatives, no zero;   s = 2^(b-1) - 1;   p minimises V (adaptive_levels.py)

Faghri et al., NeurIPS 2020, arXiv:2010.12460. Differs: p is searched on a grid of hundredths and then by golden
section, not by gradient descent with restarts. Below p^s an element goes to either sign of it, unbiased.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import ClassVar

from laconic.compress.adaptive_levels import AbstractAdaptiveLevels, Distribution

_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class AMQ(AbstractAdaptiveLevels):
    """Powers of one number as levels, fitted to the gradients; unbiased."""

    bits: int = 3
    block: int = 1024
    refresh: int = 100  # steps
    norm: str = "l2"

    name: ClassVar[str] = "amq"
    paper: ClassVar[str] = "faghri2020adaptive"

    def __post_init__(self) -> None:
        self.check()

    def first(self) -> tuple[float, ...]:
        return self._powers(0.5)

    def _powers(self, p: float) -> tuple[float, ...]:
        return tuple(accumulate([1.0] + [p] * ((1 << (self.bits - 1)) - 1), mul))[::-1]  # the same on any machine

    def fit(self, seen: Distribution, now: tuple[float, ...]) -> tuple[float, ...]:
        def variance(p: float) -> float:
            return seen.variance(self._powers(p))

        start = min((k / 100 for k in range(5, 96)), key=variance)
        low, high = start - 0.01, start + 0.01
        for _ in range(30):
            left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            low, high = (low, right) if variance(left) <= variance(right) else (left, high)
        best = self._powers((low + high) / 2)
        return min((now, self._powers(start), best), key=seen.variance)

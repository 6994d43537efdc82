"""Learning rates for larger batches: factors and schedules as plain functions, for torch's LambdaLR.

    linear    batch x k  ->  rate x k                        Goyal et al., 2017, arXiv:1706.02677
    sqrt      batch x k  ->  rate x sqrt(k)                  Krizhevsky, 2014, arXiv:1404.5997
    warm-up   rate_t = rate_0 + (k rate_0 - rate_0) t / T    Goyal et al.: T = 5 epochs, step by step
    LEGW      batch x k  ->  peak x sqrt(k), epochs of warm-up x k, so its steps stay    You et al., arXiv:1901.08256

Losses are means over the batch: where they are sums, the factor is in the gradient already.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from laconic.core.errors import UsageError


def linear(k: float) -> float:
    """The factor of the rate for a batch that is k times as large."""
    return _checked(k)


def sqrt(k: float) -> float:
    return math.sqrt(_checked(k))


def gradual(peak: float, warmup_steps: int) -> Callable[[int], float]:
    """Factor of step t = 0, 1, ...: from 1 to `peak` in equal steps, then `peak`."""
    if warmup_steps < 0:
        raise UsageError(f"A warm-up of {warmup_steps} steps: give 0 or more.")

    def factor(step: int) -> float:
        return peak if step >= warmup_steps else 1.0 + (peak - 1.0) * step / warmup_steps

    return factor


@dataclass(frozen=True)
class Legw:
    """Linear-epoch gradual warm-up from a setting that is known to work: its batch and its warm-up."""

    batch: int
    warmup_epochs: float

    def factor(self, batch: int) -> float:
        """Of the peak rate."""
        return sqrt(batch / self.batch)

    def epochs(self, batch: int) -> float:
        return self.warmup_epochs * _checked(batch / self.batch)

    def steps(self, batch: int, examples: int) -> int:
        """The same for every batch, but for rounding."""
        return round(self.epochs(batch) * examples / batch)

    def schedule(self, batch: int, examples: int) -> Callable[[int], float]:
        """For LambdaLR: a rise from 0 to `factor` within `steps`."""
        peak, steps = self.factor(batch), self.steps(batch, examples)
        return lambda step: peak if step >= steps else peak * (step + 1) / (steps + 1)


def _checked(k: float) -> float:
    if not (k > 0 and math.isfinite(k)):
        raise UsageError(f"A batch that is {k:g} times as large: give a number above 0.")
    return k

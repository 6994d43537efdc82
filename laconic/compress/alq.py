"""ALQ: unbiased rounding to levels that are fitted, one by one, to the gradients.

    l_i <- F^-1( F(l_(i+1)) - integral from l_(i-1) to l_(i+1) of (r - l_(i-1)) / (l_(i+1) - l_(i-1)) dF )

That is the best place of l_i between its neighbours; sweeps over all levels, between 0 and 1, until they stand.
Faghri et al., NeurIPS 2020, arXiv:2010.12460, coordinate descent. For F and differences see `adaptive_levels.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.compress.adaptive_levels import AbstractAdaptiveLevels, Distribution
from laconic.compress.dithering import powers_of_two

_SWEEPS = 30
_CLOSEST = 1e-6  # two levels are never nearer


@dataclass(frozen=True)
class ALQ(AbstractAdaptiveLevels):
    """Levels fitted to the gradients one by one; unbiased."""

    bits: int = 3
    block: int = 1024
    refresh: int = 100  # steps
    norm: str = "l2"

    name: ClassVar[str] = "alq"
    paper: ClassVar[str] = "faghri2020adaptive"

    def __post_init__(self) -> None:
        self.check()

    def first(self) -> tuple[float, ...]:
        return powers_of_two((1 << (self.bits - 1)) - 1)

    def fit(self, seen: Distribution, now: tuple[float, ...]) -> tuple[float, ...]:
        best, least = now, seen.variance(now)
        levels = list(now)
        for _ in range(_SWEEPS):
            for i in range(1, len(levels) - 1):
                levels[i] = _between(seen, levels[i - 1], levels[i + 1])
            variance = seen.variance(tuple(levels))
            if variance >= least:
                break
            best, least = tuple(levels), variance
        return best


def _between(seen: Distribution, low: float, high: float) -> float:
    """The best level between two neighbours, a little away from both."""
    f0, g0, _ = seen.upto(low)
    f1, g1, _ = seen.upto(high)
    place = seen.inverse(f1 - ((g1 - g0) - low * (f1 - f0)) / (high - low))
    margin = min(_CLOSEST, (high - low) / 4)
    return min(high - margin, max(low + margin, place))

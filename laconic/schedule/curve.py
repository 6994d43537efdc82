"""What a message costs by its size: measured points, straight lines between them.

    cost(m) = linear between the two points around m; below the first the first, beyond the last its last slope

Real links are not one line: small messages cost a latency, large ones a bandwidth, and what is between depends on the
algorithm. `line` is the one line a + b m of least squares that MG-WFBP assumes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laconic.core.errors import UsageError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    sizes: tuple[int, ...]  # bytes, ascending
    seconds: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.sizes or len(self.sizes) != len(self.seconds) or list(self.sizes) != sorted(set(self.sizes)):
            raise UsageError(f"A cost curve needs ascending sizes with a time each, got {self.sizes}, {self.seconds}.")

    def __call__(self, nbytes: float) -> float:
        return float(self.many(np.asarray([nbytes], dtype=np.float64))[0])

    def many(self, nbytes: Floats) -> Floats:
        x, y = np.asarray(self.sizes, dtype=np.float64), np.asarray(self.seconds, dtype=np.float64)
        inside: Floats = np.interp(nbytes, x, y)
        slope = max(0.0, (y[-1] - y[-2]) / (x[-1] - x[-2])) if len(x) > 1 else 0.0
        beyond: Floats = np.maximum(0.0, nbytes - x[-1])
        return np.add(inside, slope * beyond)

    def times(self, share: float) -> Curve:
        """So much of this cost, at every size."""
        return Curve(self.sizes, tuple(share * s for s in self.seconds))

    def line(self) -> tuple[float, float]:
        """(a, b) of a + b m, neither below zero."""
        x, y = np.asarray(self.sizes, dtype=np.float64), np.asarray(self.seconds, dtype=np.float64)
        if len(x) == 1:
            return float(y[0]), 0.0
        b = max(0.0, float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum()))
        return max(0.0, float(y.mean() - b * x.mean())), b


def straight(a_s: float, b_s: float) -> Curve:
    """a + b m, as the literature has it."""
    top = 1 << 30
    return Curve((0, top), (a_s, a_s + b_s * top))


def steady(sizes: Sequence[int], seconds: Sequence[float]) -> Curve:
    """Measured points, made to ascend: a larger message never costs less."""
    return Curve(tuple(sizes), tuple(np.maximum.accumulate(np.asarray(seconds, dtype=np.float64)).tolist()))

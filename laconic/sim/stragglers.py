"""Who is slow, by how much: factors on the computing time of each worker in each step.

    none             everyone takes as long as the profile says
    lognormal(s)     exp(s z - s^2/2), z normal: mean 1, another draw for each worker and step
    exp(m)           1 + an exponential of mean m, the same way
    slow(f, k)       k workers (the last ones) always take f times as long

Draws come from a generator of their own, by seed: a simulation repeats. They are summed a few steps at a time, so that
thousands of steps of thousands of workers never lie in memory together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laconic.core.errors import UsageError

Floats = NDArray[np.float64]
BLOCK = 1 << 18  # factors that are drawn together
MOST = {"lognormal": 2.0, "exp": 1e6, "slow": 1e6}  # above 2 the mean of a few thousand draws is far from 1


@dataclass(frozen=True)
class Stragglers:
    kind: str = "none"
    amount: float = 0.0
    count: int = 1
    seed: int = 0

    def factors(self, world: int, steps: int) -> Floats:
        """steps x workers."""
        return self._drawn(np.random.default_rng(self.seed), world, steps)

    def summed(self, world: int, stretches: Iterable[int]) -> Iterator[Floats]:
        """The same, each worker's summed over stretches of so many steps."""
        draw, most = np.random.default_rng(self.seed), max(1, BLOCK // world)
        for steps in stretches:
            total = np.zeros(world)
            for first in range(0, steps, most):
                total += self._drawn(draw, world, min(most, steps - first)).sum(axis=0)
            yield total

    def _drawn(self, draw: np.random.Generator, world: int, steps: int) -> Floats:
        self.fit(world)
        match self.kind:
            case "lognormal":
                z = draw.standard_normal((steps, world))
                return np.asarray(np.exp(self.amount * z - self.amount**2 / 2))
            case "exp":
                return 1.0 + draw.exponential(self.amount, (steps, world))
            case "slow":
                out = np.ones((steps, world))
                out[:, world - self.count :] = self.amount
                return out
            case _:
                return np.ones((steps, world))

    def fit(self, world: int) -> None:
        if self.kind == "slow" and self.count > world:
            raise UsageError(
                f"--stragglers '{self}': with --workers {world} there are no {self.count} to be slow. Give more, or "
                f"slow({self.amount:g}, {world})."
            )

    @property
    def varies(self) -> bool:
        return self.kind in ("lognormal", "exp")

    def __str__(self) -> str:
        match self.kind:
            case "none":
                return "none"
            case "slow":
                return f"slow({self.amount:g}, {self.count})"
            case kind:
                return f"{kind}({self.amount:g})"


def parse_stragglers(text: str, seed: int = 0) -> Stragglers:
    found = re.fullmatch(r"\s*(none|lognormal|exp|slow)\s*(?:\(\s*(\d+\.?\d*|\.\d+)x?\s*(?:,\s*(\d+)\s*)?\))?\s*", text)
    if found is None or (found[1] != "none") != bool(found[2]) or (found[3] and found[1] != "slow"):
        raise UsageError(f"--stragglers '{text}': write none, lognormal(0.2), exp(0.1) or slow(3, 1).")
    kind, amount, count = found[1], float(found[2] or 0), int(found[3] or 1)
    if kind == "slow" and amount <= 1:
        raise UsageError(f"--stragglers '{text}': a slow worker takes more than once the usual time. Or write none.")
    if kind != "none" and amount == 0:
        raise UsageError(f"--stragglers '{text}': nothing would vary. Write {kind}(0.2), or none.")
    if kind != "none" and amount > MOST[kind]:
        raise UsageError(f"--stragglers '{text}': {kind} goes up to {MOST[kind]:,g}. Give less.")
    if count < 1:
        raise UsageError(f"--stragglers '{text}': nobody would be slow. Write slow({amount:g}, 1), or none.")
    return Stragglers(kind, amount, count, seed)

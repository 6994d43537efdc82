"""Who is slow, by how much: factors on the computing time of each worker in each step.

    none             everyone takes as long as the profile says
    lognormal(s)     exp(s z - s^2/2), z normal: mean 1, another draw for each worker and step
    exp(m)           1 + an exponential of mean m, the same way
    slow(f, k)       k workers (the last ones) always take f times as long

Draws come from a generator of their own, by seed: a simulation repeats.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laconic.core.errors import UsageError


@dataclass(frozen=True)
class Stragglers:
    kind: str = "none"
    amount: float = 0.0
    count: int = 1
    seed: int = 0

    def factors(self, world: int, steps: int) -> NDArray[np.float64]:
        """steps x workers."""
        draw = np.random.default_rng(self.seed)
        match self.kind:
            case "lognormal":
                z = draw.standard_normal((steps, world))
                return np.asarray(np.exp(self.amount * z - self.amount**2 / 2))
            case "exp":
                return 1.0 + draw.exponential(self.amount, (steps, world))
            case "slow":
                out = np.ones((steps, world))
                out[:, max(0, world - self.count) :] = self.amount
                return out
            case _:
                return np.ones((steps, world))

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
    amount, count = float(found[2] or 0), int(found[3] or 1)
    if found[1] == "slow" and amount < 1:
        raise UsageError(f"--stragglers '{text}': a slow worker takes at least once the usual time.")
    if count < 1:
        raise UsageError(f"--stragglers '{text}': nobody would be slow. Write slow({amount:g}, 1), or none.")
    return Stragglers(found[1], amount, count, seed)

"""`allreduce(auto)`: which algorithm for which size, from a short table of measured times.

    time(algorithm, nbytes)   straight lines between the measured sizes, the last one goes on
    pick(nbytes)              the fastest; `native` unless another is at least 10 % faster

The table is the same on all ranks (drive/tune.py), so all pick alike without asking. At equal times the backend's own
all-reduce is the safer choice: it needs no thread of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from laconic.core.units import bytes_text
from laconic.topology.allreduce import NATIVE
from laconic.topology.programs.grid import prime_factors

MARGIN = 0.9


@dataclass(frozen=True)
class Choice:
    sizes: tuple[int, ...]  # bytes, rising
    seconds: tuple[tuple[str, tuple[float, ...]], ...]  # of each algorithm, at each size

    def pick(self, nbytes: int) -> str:
        return _pick(self, nbytes)

    def time(self, name: str, nbytes: int) -> float:
        return _line(self.sizes, dict(self.seconds)[name], nbytes)

    def __str__(self) -> str:
        """`recursive_doubling up to 32 KiB, then ring`, by the measured sizes."""
        picks = [self.pick(size) for size in self.sizes]
        changes = [i for i in range(1, len(picks)) if picks[i] != picks[i - 1]]
        words = [f"{picks[i - 1]} up to about {bytes_text(self._border(i))}" for i in changes]
        return ", then ".join([*words, picks[-1]])

    def _border(self, i: int) -> int:
        """Where between two measured sizes the choice changes."""
        low, high = self.sizes[i - 1], self.sizes[i]
        before = self.pick(low)
        while high - low > max(1, low // 50):
            middle = (low + high) // 2
            low, high = (middle, high) if self.pick(middle) == before else (low, middle)
        return low


def candidates(world: int) -> tuple[str, ...]:
    """What is worth measuring: a tree loses to doubling, and shapes of the network are for the user to tell."""
    names = [NATIVE, "ring", "recursive_doubling", "halving_doubling", "sra"]
    if world > 4:
        names.append("double_tree")
    if world > 4 and len(prime_factors(world)) > 1:
        names.append("torus")
    return tuple(names)


@lru_cache(maxsize=4096)
def _pick(choice: Choice, nbytes: int) -> str:
    times = {name: choice.time(name, nbytes) for name, _ in choice.seconds}
    fastest = min(times, key=lambda name: times[name])
    return fastest if NATIVE not in times or times[fastest] < MARGIN * times[NATIVE] else NATIVE


def _line(sizes: tuple[int, ...], seconds: tuple[float, ...], nbytes: int) -> float:
    if len(sizes) == 1 or nbytes <= sizes[0]:
        return seconds[0]
    i = next((i for i in range(1, len(sizes)) if nbytes <= sizes[i]), len(sizes) - 1)
    slope = (seconds[i] - seconds[i - 1]) / (sizes[i] - sizes[i - 1])
    return max(seconds[i - 1] + slope * (nbytes - sizes[i - 1]), 0.0)

"""Successive halving: try all settings briefly, keep the faster half, try those for longer, until one is left.

    rung r: every survivor runs `rounds` times `window` 2^r steps, in turn, so that all see the same weather; the median
    counts, and the first step of each turn is thrown away. The better half goes on; number 0 stays while it is not
    beaten by more than a few steps can be off by chance (CLEARLY).

Jamieson, Talwalkar, AISTATS 2016, arXiv:1502.07943. With two settings it is an A/B test; number 0 is what is in use.
"""

from __future__ import annotations

from statistics import median

WINDOW = 3
ROUNDS = 2
CLEARLY = 0.97


class Halving:
    def __init__(self, count: int, window: int = WINDOW, rounds: int = ROUNDS) -> None:
        self.alive = list(range(count))
        self.medians: dict[int, float] = {}
        self._window, self._rounds = window, rounds
        self._turns: list[int] = []
        self._times: dict[int, list[float]] = {}
        self._steps = 0
        self._deal()

    @property
    def current(self) -> int:
        """The setting to run the next step with."""
        return self._turns[0] if self._turns else self.alive[0]

    @property
    def full(self) -> bool:
        """Is a rung complete, so that `judge` may be called?"""
        return not self._turns

    def step(self, seconds: float) -> None:
        """One step of the current setting took so long."""
        self._steps += 1
        if self._steps > 1:  # the first of a turn still has the last one's waves in it
            self._times[self._turns[0]].append(seconds)
        if self._steps == self._window + 1:
            self._turns.pop(0)
            self._steps = 0

    def mine(self) -> list[float]:
        """This rank's medians, in the order of `alive`."""
        return [median(self._times[i]) for i in self.alive]

    def judge(self, medians: list[float]) -> bool:
        """With everybody's: who goes on. True when one is left."""
        self.medians |= dict(zip(self.alive, medians, strict=True))
        keep = max(1, len(self.alive) // 2)
        self.alive = sorted(sorted(self.alive, key=lambda i: (self.medians[i] * (1 if i else CLEARLY), i))[:keep])
        self._window *= 2
        self._deal()
        return len(self.alive) == 1

    def _deal(self) -> None:
        self._turns = self.alive * self._rounds if len(self.alive) > 1 else []
        self._times = {i: [] for i in self.alive}
        self._steps = 0

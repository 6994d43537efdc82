"""LASG-PS: a worker uploads only when the model has moved away from where it last did, whatever noise gradients have.

    silent iff  L^2 |x - x_i|^2 <= xi sum_{j=1..D} |mean^(t-j)|^2   and for less than `patience` steps

Chen, Sun, Yin, 2020, arXiv:2002.11360. x_i is the model at the last upload of worker i, L how fast its gradient
changes with the model: with it L |x - x_i| bounds the change of the expected gradient, and minibatches do not matter.
xi = 0 is BSP. Differs: every worker keeps x_i and decides by itself, as the model is the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.core.errors import PlanError
from laconic.sync.lazy import AbstractLazy, Seen, check, little


@dataclass(frozen=True)
class LASG(AbstractLazy):
    """Upload gradients only when the model has moved."""

    smoothness: float = 1.0  # L
    xi: float = 0.1
    window: int = 10  # D, steps
    patience: int = 100  # steps

    name: ClassVar[str] = "lasg"
    paper: ClassVar[str] = "chen2020lasg"
    follows_model: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self, self.xi, self.window, self.patience)
        if not self.smoothness > 0:
            raise PlanError(f"lasg(smoothness={self.smoothness:g}): how fast gradients change is above 0.")

    @property
    def memory(self) -> int:
        return self.window

    def speaks(self, seen: Seen) -> bool:
        limit = little(self.xi, self.window, seen)
        return limit == 0 or self.smoothness**2 * seen.moved > limit or seen.silent + 1 >= self.patience

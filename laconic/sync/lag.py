"""LAG-WK: a worker uploads its gradient only when it has changed by more than the model has been moving.

    silent iff  |g_i - u_i|^2 <= xi sum_{j=1..D} |mean^(t-j)|^2   and for less than `patience` steps

Chen, Giannakis, Sun, Yin, NeurIPS 2018, arXiv:1805.09965, for a mean of losses (the paper's sum has a 1/n^2). All
upload in the first D steps. xi = 0 is BSP. Differs: the paper compares with differences of models over the learning
rate, which for plain SGD are the updates used here. Made for full gradients: the noise of minibatches counts as
change, so that nobody is ever silent; see `lasg`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.sync.lazy import AbstractLazy, Seen, check, little


@dataclass(frozen=True)
class LAG(AbstractLazy):
    """Upload gradients only where they have changed much."""

    xi: float = 0.1
    window: int = 10  # D, steps
    patience: int = 100  # steps

    name: ClassVar[str] = "lag"
    paper: ClassVar[str] = "chen2018lag"

    def __post_init__(self) -> None:
        check(self, self.xi, self.window, self.patience)

    @property
    def memory(self) -> int:
        return self.window

    def speaks(self, seen: Seen) -> bool:
        return seen.change > little(self.xi, self.window, seen) or seen.silent + 1 >= self.patience

"""One-shot averaging: train alone to the end, average once.

    x_i <- x_i - eta g_i(x_i) ... ;   at replica.flush() or average():  x_i <- mean_j x_j

Zinkevich, Weimer, Smola, Li, NIPS 2010. All start from the same model. Fine for convex problems; the mean of distant
minima of a deep network may be none. An evaluation that flushes averages too: evaluate at the end only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.sync.rounds import AbstractRounds


@dataclass(frozen=True)
class OneShot(AbstractRounds):
    """Train alone, average the models once, at flush()."""

    name: ClassVar[str] = "one_shot"
    paper: ClassVar[str] = "zinkevich2010parallelized"

    def talks(self, step: int) -> bool:
        return False

    def traits(self) -> dict[str, object]:
        return {
            "subject": "model delta",
            "replicas": "equal only after flush()",
            "lost_on_fault": "all steps since the last flush()",
        }

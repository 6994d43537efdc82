"""R2SP: workers take turns at the shared model, in a ring, so that no two of them use the server's link at a time.

    the update of worker i is taken in after that of worker i - 1, and only then does i read the model again

Chen, Wang, Li, INFOCOM 2019. Workers fall into a rhythm in which each is offset by 1/n of a period: traffic is spread
evenly, and an update is exactly n - 1 others old. Differs: the offset comes from the order alone, not from a schedule
of times; the paper gives slower workers smaller batches, which is up to the training script. A slow worker slows the
ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.sync.shared import IN_TURN, AbstractShared


@dataclass(frozen=True)
class RoundRobin(AbstractShared):
    """Workers update the shared model in turn, one at a time."""

    name: ClassVar[str] = "r2sp"
    paper: ClassVar[str] = "chen2019round"
    order: ClassVar[str] = IN_TURN
    only_servers: ClassVar[bool] = True

    @property
    def bound(self) -> int | None:
        return 1  # by the order of turns

    def traits(self) -> dict[str, object]:
        return {
            "subject": "steps, one by one",
            "replicas": "one step apart, equal after flush()",
            "lost_on_fault": "the step in flight of that worker",
        }

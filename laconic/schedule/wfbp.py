"""Wait-free backpropagation: every tensor leaves on its own, as soon as its gradient is final.

Zhang et al., Poseidon, ATC 2017, arXiv:1706.03292. Many small tensors cost many latencies; `fused` exists for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from laconic.schedule.base import AbstractSchedule, Item


@dataclass(frozen=True)
class Wfbp(AbstractSchedule):
    """Send every tensor on its own, while backward goes on."""

    name: ClassVar[str] = "wfbp"
    paper: ClassVar[str] = "zhang2017poseidon"
    overlaps: ClassVar[bool] = True

    def cut(self, items: Sequence[Item]) -> list[list[int]]:
        return [[i] for i in reversed(range(len(items)))]

    def traits(self) -> dict[str, object]:
        return {"overlaps": "backward", "buckets": "one a tensor"}

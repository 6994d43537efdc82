"""MG-WFBP: merge a gradient's message into the next one's where waiting costs less than another latency.

The rule and its model a + b m are in schedule/partition.py, `merged`; a and b are the line of least squares through
what was measured on the actual group. Shi, Chu, Li, INFOCOM 2019, arXiv:1811.11141. For comparison: `planned` is
never worse under the same model. Differs from the authors' code: a and b are measured, not looked up in a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from laconic.schedule.base import Item
from laconic.schedule.measured import ON
from laconic.schedule.merged import AbstractMerged, in_runs
from laconic.schedule.partition import merged
from laconic.schedule.profile import Profile


@dataclass(frozen=True)
class MgWfbp(AbstractMerged):
    """Measure a few steps, then merge gradients by MG-WFBP's rule."""

    guard: str = ON

    name: ClassVar[str] = "mgwfbp"
    paper: ClassVar[str] = "shi2019mgwfbp"

    def recut(self, items: Sequence[Item], profile: Profile) -> list[list[int]]:
        a_s, b_s = profile.cost.line()
        return in_runs(items, profile, lambda ready, sizes: merged(ready, sizes, a_s, b_s))

    def traits(self) -> dict[str, object]:
        return {"overlaps": "backward", "buckets": "merged by the paper's rule"}

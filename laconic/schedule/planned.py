"""Buckets by measurement: the merger of gradients that ends earliest, exactly.

    min over all ways to merge neighbours of the moment the last message has arrived  (schedule/partition.py, planned)

Ready times come from the first steps of the run, costs from exchanges of several sizes on the actual group; until then
buckets are those of `fused`. Exact for the model of one message after the other, with any cost curve; MG-WFBP (Shi,
Chu, Li, INFOCOM 2019, arXiv:1811.11141) has the model and a greedy rule. Where tensors travel in several ways (small
ones dense beside a compressor), each kind is planned by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from laconic.schedule.base import Item
from laconic.schedule.measured import ON
from laconic.schedule.merged import AbstractMerged, in_runs
from laconic.schedule.partition import planned
from laconic.schedule.profile import Profile


@dataclass(frozen=True)
class Planned(AbstractMerged):
    """Measure a few steps, then merge gradients so that the last message arrives as early as it can."""

    guard: str = ON

    name: ClassVar[str] = "planned"
    paper: ClassVar[str] = "shi2019mgwfbp"

    def recut(self, items: Sequence[Item], profile: Profile) -> list[list[int]]:
        return in_runs(items, profile, lambda ready, sizes: planned(ready, sizes, profile.cost))

    def traits(self) -> dict[str, object]:
        return {"overlaps": "backward", "buckets": "the optimum for measured times"}

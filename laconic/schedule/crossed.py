"""Crossing the boundary between steps: reduce-scatter during backward, all-gather before first use in the next forward.

    backward   a full bucket is added up, each rank keeps a share of the sum
    forward    shares are collected in the order of first use; a module waits only for the buckets it uses

The bytes are those of an all-reduce, the time to hide them is backward plus forward. DeAR: Zhang, Shi, Chu, Li et al.,
ICDCS 2023, arXiv:2302.12445. Differs: real torch optimizers bucket by bucket, with the hyper-parameters of the step
they belong to; gates by observed first use; nothing is dropped at the end and evaluation never sees old weights
(docs/order.md); on gloo the halves are hop programs of ours, because its own reduce-scatter moves an all-reduce's
bytes. With a compressor the first round is made during backward, the rest before first use. Buckets are merged as
`planned` would, for the half that backward has to hide; those of a compressor that remembers stay as they were cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from laconic.core.units import parse_bytes
from laconic.schedule.base import AbstractSchedule, Item, fill
from laconic.schedule.fused import Fused
from laconic.schedule.measured import ON, AbstractMeasured
from laconic.schedule.merged import in_runs
from laconic.schedule.partition import planned
from laconic.schedule.planned import Planned
from laconic.schedule.priority import AUTO
from laconic.schedule.profile import Profile

PLANNED = "planned"
_TRIED = ("1MiB", "4MiB", "25MiB", "100MiB")


@dataclass(frozen=True)
class Crossed(AbstractMeasured):
    """Reduce-scatter while backward goes on, all-gather while the next forward pass does."""

    bucket: str = PLANNED
    guard: str = ON

    name: ClassVar[str] = "crossed"
    paper: ClassVar[str] = "zhang2023dear"
    crosses: ClassVar[bool] = True
    halves: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bucket not in (AUTO, PLANNED):
            parse_bytes(self.bucket)

    @property
    def recuts(self) -> bool:
        return False  # not for its own sake: what a compressor remembers stays where it is

    def cut(self, items: Sequence[Item]) -> list[list[int]]:
        if self.bucket in (AUTO, PLANNED):
            return Fused().cut(items)
        return fill(items, [parse_bytes(self.bucket)])

    def recut(self, items: Sequence[Item], profile: Profile) -> list[list[int]] | None:
        if self.bucket != PLANNED:
            return None
        half = profile.cost.times(0.5)
        return in_runs(items, profile, lambda ready, sizes: planned(ready, sizes, half))

    def urgency(self, items: Sequence[Item], profile: Profile) -> list[int]:
        return list(profile.first_use)

    def barrier(self) -> AbstractSchedule:
        return Planned() if self.bucket == PLANNED else self

    def candidates(self) -> tuple[AbstractSchedule, ...]:
        return tuple(replace(self, bucket=b) for b in _TRIED) if self.bucket == AUTO else ()

    def papers(self) -> tuple[str, ...]:
        return (self.paper, "shi2019mgwfbp") if self.bucket == PLANNED else (self.paper,)

    def traits(self) -> dict[str, object]:
        return {"overlaps": "backward and the next forward pass", "buckets": self.bucket}

"""First in, first out: nothing leaves before the backward pass has ended, then bucket after bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from laconic.core.units import parse_bytes
from laconic.schedule.base import AbstractSchedule, Item, fill


@dataclass(frozen=True)
class Fifo(AbstractSchedule):
    """Send buckets one after the other when the backward pass has ended."""

    bucket: str = "25MiB"

    name: ClassVar[str] = "fifo"
    overlaps: ClassVar[bool] = False

    def __post_init__(self) -> None:
        parse_bytes(self.bucket)

    def cut(self, items: Sequence[Item]) -> list[list[int]]:
        return fill(items, [parse_bytes(self.bucket)])

    def traits(self) -> dict[str, object]:
        return {"overlaps": "nothing", "buckets": self.bucket}

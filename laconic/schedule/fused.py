"""Fused buckets launched during the backward pass, last layers first.

A small first bucket lets communication start early; the others are large enough for latency not to matter.
The sizes are those of torch DDP (Li et al., VLDB 2020, arXiv:2006.15704); fusion: Sergeev, Del Balso, Horovod,
2018, arXiv:1802.05799; starting during backward: Zhang et al., Poseidon, ATC 2017, arXiv:1706.03292.
With `chunk` a bucket leaves in several messages: one is encoded while another travels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from laconic.core.units import parse_bytes
from laconic.schedule.base import AbstractSchedule, Item, fill

NO = "no"


@dataclass(frozen=True)
class Fused(AbstractSchedule):
    """Pack gradients into buckets; send each as soon as it is full, while backward goes on."""

    bucket: str = "25MiB"
    first: str = "1MiB"
    chunk: str = NO

    name: ClassVar[str] = "fused"
    paper: ClassVar[str] = "li2020pytorch"
    overlaps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        parse_bytes(self.bucket)
        parse_bytes(self.first)
        if self.chunk != NO:
            parse_bytes(self.chunk)

    @property
    def chunk_bytes(self) -> int | None:
        return None if self.chunk == NO else parse_bytes(self.chunk)

    def cut(self, items: Sequence[Item]) -> list[list[int]]:
        return fill(items, [parse_bytes(self.first), parse_bytes(self.bucket)])

    def traits(self) -> dict[str, object]:
        chunks = {} if self.chunk == NO else {"chunks": self.chunk}
        return {"overlaps": "backward", "buckets": f"{self.first}, then {self.bucket}", **chunks}

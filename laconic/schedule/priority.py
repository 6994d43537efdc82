"""Partition and priority: what the next forward pass needs first goes first, in chunks that others may overtake.

    a message holds at most `chunk` bytes; the ready one whose parameters are used earliest leaves first, while at most
    `credit` bytes are under way (schedule/queueing.py); the next forward pass starts before the last has arrived

P3 (Jayarajan et al., MLSys 2019, arXiv:1905.03960): small slices, no credit. ByteScheduler (Peng et al., SOSP 2019):
both. Differs: small neighbours share a chunk; first use is observed in real steps, not the order of registration (nor
of names, as in BytePS); the order is worked out once from measured times and is the same on all ranks, so no rank has
to announce each message; a credit below two chunks uses one lane, any other two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from laconic.core.errors import PlanError
from laconic.core.units import parse_bytes
from laconic.schedule.base import AbstractSchedule, Item, fill
from laconic.schedule.measured import ON, AbstractMeasured
from laconic.schedule.profile import Profile

AUTO = "auto"
_TRIED = (("1MiB", "4MiB"), ("4MiB", "4MiB"), ("4MiB", "16MiB"), ("16MiB", "64MiB"))


@dataclass(frozen=True)
class Priority(AbstractMeasured):
    """Send in chunks, what the next forward pass uses first before the rest, and let that pass begin meanwhile."""

    chunk: str = "4MiB"
    credit: str = "16MiB"
    guard: str = ON

    name: ClassVar[str] = "priority"
    paper: ClassVar[str] = "peng2019bytescheduler"
    crosses: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if AUTO in (self.chunk, self.credit):
            if self.chunk != self.credit:
                raise PlanError(f"{self.name}: chunk={self.chunk}, credit={self.credit}; both are 'auto' or none is.")
        elif parse_bytes(self.chunk) > parse_bytes(self.credit):
            raise PlanError(
                f"{self.name}: chunk={self.chunk}, credit={self.credit}; a credit below one chunk lets nothing leave."
            )

    def papers(self) -> tuple[str, ...]:
        return (self.paper, "jayarajan2019p3")

    @property
    def _settled(self) -> Priority:
        return replace(self, chunk=Priority.chunk, credit=Priority.credit) if self.chunk == AUTO else self

    @property
    def chunk_bytes(self) -> int:
        return parse_bytes(self._settled.chunk)

    @property
    def credit_bytes(self) -> int:
        return parse_bytes(self._settled.credit)

    def cut(self, items: Sequence[Item]) -> list[list[int]]:
        """No bucket is larger than a chunk unless one tensor is."""
        return fill(items, [self.chunk_bytes], strict=True)

    def urgency(self, items: Sequence[Item], profile: Profile) -> list[int]:
        return list(profile.first_use)

    def candidates(self) -> tuple[AbstractSchedule, ...]:
        if self.chunk != AUTO:
            return ()
        return tuple(replace(self, chunk=chunk, credit=credit) for chunk, credit in _TRIED)

    def traits(self) -> dict[str, object]:
        return {"overlaps": "backward and the next forward pass", "chunks": self.chunk, "under way": self.credit}

"""Silent: no communication at all. Not a way to train; the floor a step's time is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.sync.base import AbstractSync, Subject


@dataclass(frozen=True)
class Silent(AbstractSync):
    """Never talk: replicas drift apart. Only for measuring."""

    name: ClassVar[str] = "silent"
    subject: ClassVar[Subject] = Subject.NOTHING

    def talks(self, step: int) -> bool:
        return False

    def traits(self) -> dict[str, object]:
        return {"subject": "nothing", "replicas": "drift apart", "lost_on_fault": "everything of that worker"}

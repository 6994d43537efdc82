"""Bulk synchronous parallel: every gradient is averaged before every step.

    x <- x - eta mean_i g_i(x)

Valiant, CACM 1990. Replicas are equal after every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.sync.base import AbstractSync, Subject


@dataclass(frozen=True)
class BSP(AbstractSync):
    """Average gradients in every step."""

    name: ClassVar[str] = "bsp"
    paper: ClassVar[str] = "valiant1990bridging"
    subject: ClassVar[Subject] = Subject.GRADIENT

    def talks(self, step: int) -> bool:
        return True

    def traits(self) -> dict[str, object]:
        return {"subject": "gradient", "replicas": "equal after every step", "lost_on_fault": "the step in flight"}

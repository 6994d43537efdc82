"""WHEN workers talk: a pure decision about a step counter, and what is talked about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import ClassVar

from laconic.core.component import Component


class Subject(Enum):
    GRADIENT = "gradient"  # exchanged before the optimizer's step
    DELTA = "delta"  # the way the parameters went since the last exchange, after the step
    MODEL = "model"  # the parameters themselves, mixed with neighbours' after the step
    NOTHING = "nothing"


class AbstractSync(Component, ABC):
    folder: ClassVar[str] = "sync"
    subject: ClassVar[Subject]

    @abstractmethod
    def talks(self, step: int) -> bool:
        """Is there an exchange at the end of local step `step` (the first one is 1)?"""

    @abstractmethod
    def traits(self) -> dict[str, object]:
        """What a user can rely on, in words."""

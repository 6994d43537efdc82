"""WHEN workers talk: a pure decision about counters, and what is talked about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import ClassVar

from laconic.core.component import Component


class Subject(Enum):
    GRADIENT = "gradient"  # exchanged before the optimizer's step
    DELTA = "delta"  # the way the parameters went since the last exchange, after the step
    UPDATE = "update"  # the way of single steps, added to a model that all share, without waiting for all
    MODEL = "model"  # the parameters themselves, mixed with neighbours' after the step
    NOTHING = "nothing"


class AbstractSync(Component, ABC):
    folder: ClassVar[str] = "sync"
    subject: ClassVar[Subject]  # of the first step

    def subject_at(self, step: int) -> Subject:
        """What is talked about in step `step` (the first one is 1)."""
        return self.subject

    @property
    def parts(self) -> int:
        """Of the model, that are said one a turn; bucket b is of part b modulo this."""
        return 1

    @abstractmethod
    def talks(self, step: int) -> bool:
        """Is there an exchange at the end of local step `step` (the first one is 1)?"""

    def fit(self, world: int) -> None:
        """Raise where so many workers cannot train this way."""

    @abstractmethod
    def traits(self) -> dict[str, object]:
        """What a user can rely on, in words."""

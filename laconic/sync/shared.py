"""Plans in which workers add their steps to a model that all share, and do not wait for all.

    worker i, clock c:   x_i = the model as it was read;  take a step d with its own optimizer;  say d;  read again

What travels is the way of a step, so every optimizer works and no optimizer code does. Each step counts 1/n: a mean,
never a sum. Over parameter servers (`ps`) the model lives there; over `allreduce` every worker has a copy of it that
moves by partial all-reduces; over `gossip` there is none, and neighbours average in pairs.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from laconic.sync.base import AbstractSync, Subject

IN_ANY_ORDER, IN_TURN, IN_ROUNDS = "any", "turn", "rounds"


class AbstractShared(AbstractSync):
    subject: ClassVar[Subject] = Subject.UPDATE
    order: ClassVar[str] = IN_ANY_ORDER  # in which updates are taken in
    only_servers: ClassVar[bool] = False

    @property
    @abstractmethod
    def bound(self) -> int | None:
        """The most steps that the slowest worker may be behind one that goes on; None: any."""

    @property
    def damped(self) -> bool:
        """Do stale updates count less?"""
        return False

    @property
    def limit(self) -> int | None:
        """Updates staler than this are dropped."""
        return None

    @property
    def compensation(self) -> float:
        return 0.0

    @property
    def backup(self) -> int:
        """How many of the workers need not be waited for, where updates are taken in in rounds."""
        return 0

    @property
    def grace_s(self) -> float:
        return 0.0

    def talks(self, step: int) -> bool:
        return self.pushes(step)

    def pushes(self, step: int) -> bool:
        """Is what was done since the last time said after this step?"""
        return True

    def pulls(self, step: int) -> bool:
        """Is the shared model read after this step?"""
        return True

"""Rounds: workers go their own way for a while, then agree on a model again.

    at the end of step t   fragment p of the model starts a round if `starts(t) == p`:   say a - x, remember y = x
    `overlap` steps later  the round lands:  a <- outer(a, mean of what was said);   x <- go_on(x, y, a)

All of it are pure functions of step counters and of numbers that are equal on all workers, so that everyone decides
alike without asking. With no overlap a round lands in the step that starts it.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from laconic.core.errors import PlanError
from laconic.outer import AbstractOuter, Add
from laconic.sync.base import AbstractSync, Subject


class AbstractRounds(AbstractSync):
    subject: ClassVar[Subject] = Subject.DELTA

    def outer_by(self) -> AbstractOuter:
        return Add()

    @property
    def lag(self) -> int:
        """Steps between the start of a round and its landing."""
        return 0

    @property
    def agrees(self) -> bool:
        """Are models equal when a round has landed?"""
        return self.parts == 1 and self.lag == 0

    def starts(self, step: int) -> int | None:
        """The fragment whose round starts at the end of this step."""
        return 0 if self.talks(step) else None

    def go_on(self, now: Tensor, then: Tensor, agreed: Tensor) -> Tensor:
        """From `then`, the model said, a worker has come to `now`; others have agreed with it on `agreed`."""
        return agreed


class AbstractAdaptive(AbstractRounds):
    """Rounds whose distance follows the loss, which users tell by `replica.observe(loss)`."""

    def talks(self, step: int) -> bool:
        """At first; later the loss decides, see `period`."""
        return step % self.first == 0

    @property
    def first(self) -> int:
        """Steps until the first round."""
        raise NotImplementedError

    def period(self, now: int, first_loss: float, loss: float, lr_share: float, rounds: int) -> int:
        """Steps until the next round; losses are means over all workers, `lr_share` is lr / first lr, `rounds` counts
        the one that has just landed."""
        raise NotImplementedError


def check_steps(part: AbstractSync, word: str, value: object, least: int = 1) -> None:
    if type(value) is not int or value < least:
        raise PlanError(f"{part.name}({word}={value!r}): the number of steps is a whole number from {least} up.")

"""Lazy aggregation: who has nothing new to say is silent, and the others go on with what it said last.

    u_i: what worker i uploaded last;   mean = 1/n sum_i u_i, kept by everyone
    worker i uploads the change g_i - u_i if `speaks`, else nothing (8 bytes say so);   u_i <- g_i

With a compressor C the change travels as C(g_i - u_i) and u_i moves by what was decoded, as in EF21 and LAQ. Decided
for every bucket by itself, where papers decide for a whole worker. Whether silence saves traffic depends on the
topology: through servers each silent worker saves its message, an all-gather is as long as its longest.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple

from laconic.core.errors import PlanError
from laconic.sync.base import AbstractSync, Subject


class Seen(NamedTuple):
    """Squared norms of one bucket on one worker."""

    change: float  # |g - u|^2
    moved: float  # |x - x at the last upload|^2
    updates: tuple[float, ...]  # |mean|^2 of the last steps, newest first
    silent: int  # steps since the last upload


class AbstractLazy(AbstractSync):
    subject: ClassVar[Subject] = Subject.GRADIENT
    follows_model: ClassVar[bool] = False  # does it ask for `moved`?

    # fields of all: xi, window, patience

    @abstractmethod
    def speaks(self, seen: Seen) -> bool:
        """Upload, or be silent?"""

    @property
    @abstractmethod
    def memory(self) -> int:
        """How many past updates it looks at."""

    def talks(self, step: int) -> bool:
        return True

    def traits(self) -> dict[str, object]:
        return {
            "subject": "gradient, where it has changed",
            "replicas": "equal after every step",
            "lost_on_fault": "the step in flight",
        }


def check(part: AbstractSync, xi: float, window: int, patience: int) -> None:
    if type(window) is not int or window < 1:
        raise PlanError(f"{part.name}(window={window!r}): the past is a whole number of steps from 1 up.")
    if not 0 <= xi * window <= 1:
        raise PlanError(
            f"{part.name}(xi={xi:g}): the weights of {window} steps are at least 0 and add up to at most 1."
        )
    if type(patience) is not int or patience < 1:
        raise PlanError(f"{part.name}(patience={patience!r}): silence ends after a whole number of steps from 1 up.")


def little(xi: float, window: int, seen: Seen) -> float:
    """xi sum_j |update^(t-j)|^2: what the model has been moving by lately; 0 until there is a past."""
    return xi * sum(seen.updates[:window]) if len(seen.updates) >= window else 0.0

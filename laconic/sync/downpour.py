"""Downpour: push every few steps, fetch every few steps, not necessarily as many.

    every n_push steps:   say what was done since the last time
    every n_fetch steps:  x <- the shared model + what is unsaid

Dean et al., NIPS 2012. Every step is said exactly once. downpour(1, fetch=1) is `asp`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from laconic.sync.rounds import check_steps
from laconic.sync.shared import AbstractShared


@dataclass(frozen=True)
class Downpour(AbstractShared):
    """Push and fetch at different times; nobody waits."""

    push: int = 4  # steps
    fetch: int = 4  # steps

    name: ClassVar[str] = "downpour"
    paper: ClassVar[str] = "dean2012large"
    only_servers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_steps(self, "push", self.push)
        check_steps(self, "fetch", self.fetch)

    @property
    def bound(self) -> int | None:
        return None

    def pushes(self, step: int) -> bool:
        return step % self.push == 0

    def pulls(self, step: int) -> bool:
        return step % self.fetch == 0

    def traits(self) -> dict[str, object]:
        return {
            "subject": f"{self.push} steps at a time",
            "replicas": "apart without bound, equal after flush()",
            "lost_on_fault": f"at most {self.push} steps of that worker",
        }

"""A driver keeps exchanges in flight: `launch` in a fixed order, `finish` them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from laconic.core.exchange import Exchange, Exchanged


@dataclass(frozen=True)
class Place:
    """Where in a run something is waited for; printed when it does not come.

    `unit`: its number among all that is exchanged in a step, where buckets are cut into chunks.
    """

    step: int
    bucket: int
    what: str = ""
    chunk: int = -1
    unit: int = -1

    @property
    def number(self) -> int:
        return self.bucket if self.unit < 0 else self.unit

    def __str__(self) -> str:
        words = [self.what] if self.what else []
        words += [f"chunk {self.chunk}"] if self.chunk >= 0 else []
        return f"step {self.step}, bucket {self.bucket}" + (f" ({', '.join(words)})" if words else "")


class Driver(Protocol):
    waited_s: float  # time `finish` stood still: waiting for peers, and coding that nothing hid

    def launch(self, place: Place, program: Exchange) -> None:
        """Start an exchange; returns at once. All ranks launch the same places in the same order."""
        ...

    def finish(self) -> list[Exchanged]:
        """Wait for everything launched since the last call; results in launch order."""
        ...

"""What a round of messages costs one worker."""

from __future__ import annotations

from typing import NamedTuple


class Wire(NamedTuple):
    """What a round costs: seconds of waiting, seconds of the line, bytes that leave the worker, messages."""

    latency_s: float
    line_s: float
    sent: float
    messages: float

    @property
    def seconds(self) -> float:
        return self.latency_s + self.line_s

    def __add__(self, other: Wire) -> Wire:  # type: ignore[override]  # side by side, not one tuple after the other
        return Wire(*(a + b for a, b in zip(self, other, strict=True)))


NOTHING = Wire(0.0, 0.0, 0.0, 0.0)

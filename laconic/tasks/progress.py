"""Progress of a run: one updating line on a terminal, a line now and then anywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

from laconic.core.units import seconds_text

TERMINAL_EVERY_S = 0.1
LOG_EVERY_S = 10.0
WATCHED_EVERY_S = 0.5  # `laconic compare` shows the last line of a run
CLEAR_LINE = "\r\x1b[K"


@dataclass
class Progress:
    """Writes to `stream`; a rank that should be silent passes None."""

    title: str
    steps: int
    stream: TextIO | None
    clock: Callable[[], float] = time.monotonic
    log_every_s: float = LOG_EVERY_S  # where it is not a terminal
    _shown_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._shown_at = self.clock()

    def step(self, step: int, step_s: float, **metrics: float) -> None:
        """Show where the run is, unless it was shown a moment ago."""
        if self.stream is None:
            return
        terminal = self.stream.isatty()
        if self.clock() - self._shown_at < (TERMINAL_EVERY_S if terminal else self.log_every_s):
            return
        left_s = (self.steps - step) * step_s
        timing = f"{seconds_text(step_s)}/step  {seconds_text(left_s)} left"
        self._write(f"{self._where(step)}  {_text(metrics)}  {timing}", kept=not terminal)

    def result(self, step: int, metrics: dict[str, float]) -> None:
        """Show an evaluation; it stays on the screen."""
        self._write(f"{self._where(step)}  {_text(metrics)}", kept=True)

    def _where(self, step: int) -> str:
        return f"{self.title}  step {step}/{self.steps}"

    def _write(self, line: str, kept: bool) -> None:
        if self.stream is None:
            return
        terminal = self.stream.isatty()
        if kept or terminal:
            start, end = CLEAR_LINE if terminal else "", "\n" if kept else ""
            self.stream.write(f"{start}{line}{end}")
            self.stream.flush()
        self._shown_at = self.clock()


def _text(metrics: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.4f}" for name, value in metrics.items())

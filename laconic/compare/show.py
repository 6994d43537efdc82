"""How far a comparison is: one changing line on a terminal, one line a finished run anywhere else."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TextIO

from laconic.compare.measured import Run
from laconic.compare.order import Turn
from laconic.core.units import seconds_text

CLEAR_LINE = "\r\x1b[K"
EVERY_S = 0.2


@dataclass
class Show:
    """Writes to `stream`; knows from finished runs how long the others will take."""

    turns: Sequence[Turn]
    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    _took: dict[str, list[float]] = field(default_factory=dict)

    def running(self, turn: Turn, seconds: float, last_line: str) -> None:
        """While a run is on its way; nothing is left on the screen."""
        if self.stream.isatty():
            left = self.left_s(turn, seconds)
            rest = f"  ({seconds_text(left)} left in all)" if left is not None else ""
            line = f"{self._head(turn)}  {seconds:.0f} s{rest}  {last_line}"
            width = max(20, shutil.get_terminal_size().columns - 1)
            self.stream.write(f"{CLEAR_LINE}{line[:width]}")
            self.stream.flush()

    def ended(self, turn: Turn, seconds: float, came: Run | str) -> None:
        """A run is done: what it measured, or why it failed."""
        self._took.setdefault(turn.row.plan, []).append(seconds)
        if self.stream.isatty():
            self.stream.write(CLEAR_LINE)
        else:
            self.stream.write(f"{self._head(turn)}  {seconds:.0f} s  {_outcome(came)}\n")
        self.stream.flush()

    def left_s(self, now: Turn, seconds: float) -> float | None:
        """What rows took before is what they will take again; None until each has run."""
        later = [turn.row.plan for turn in self.turns if turn.number >= now.number]
        if not all(plan in self._took for plan in later):
            return None
        return max(0.0, sum(fmean(self._took[plan]) for plan in later) - seconds)

    def _head(self, turn: Turn) -> str:
        return f"[{turn.number}/{len(self.turns)}] {turn.row.text}"


def _outcome(came: Run | str) -> str:
    if isinstance(came, str):
        return f"FAILED: {came.strip().splitlines()[0] if came.strip() else 'without a word'}"
    metrics = "  ".join(f"{name} {value:.4f}" for name, value in came.metrics.items() if value is not None)
    return f"{seconds_text(came.step_s)}/step  {metrics}".rstrip()

"""In what order rows run: all of them once, then all of them again, so that a machine's moods strike everybody.

Each repetition starts one row later than the one before it, and every second one goes backwards: nobody always runs
first, or always after the same row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from laconic.compare.rows import Row, period

EVALUATIONS = 20  # while a run is on its way to the metric that --until names


@dataclass(frozen=True)
class Turn:
    """One run: its number from 1, its repetition from 0, and its row."""

    number: int
    repetition: int
    row: Row


def turns(rows: Sequence[Row], repeat: int) -> list[Turn]:
    shifted = ((r, rows[(r + (-i if r % 2 else i)) % len(rows)]) for r in range(repeat) for i in range(len(rows)))
    return [Turn(number, repetition, row) for number, (repetition, row) in enumerate(shifted, 1)]


def evaluate_every(steps: int, rows: Iterable[Row]) -> int:
    """About twenty evaluations, at steps where every row has just talked (if that leaves at least four)."""
    wanted = max(1, steps // EVALUATIONS)
    common = math.lcm(*(period(row) for row in rows))
    if common > max(1, steps // 4):
        return wanted
    return math.ceil(wanted / common) * common

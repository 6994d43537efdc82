"""Weights you give yourself, in a text file.

    # who hears whom: row i, column j is the weight that rank i gives to what rank j sends
    1/2 1/2  0
    1/4 1/2 1/4
     0  1/2 1/2

Numbers or fractions, separated by spaces or commas; what follows # is not read. Several matrices with an empty line
between them are the rounds of a graph that changes: one after the other, then again from the first. Columns must add
up to one (what a rank sends is handed out completely, so the mean stays) and, unless push_sum mixes, rows too. Write
fractions where decimals end too early: 0.333 three times would shrink the model a little in every round.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from laconic.core.errors import PlanError
from laconic.topology.graph import AbstractGraph, Weights

_LARGEST_BYTES = 1 << 24


@dataclass(frozen=True)
class WeightFile(AbstractGraph):
    """A mixing matrix, or several in turn, from a text file."""

    path: str

    name: ClassVar[str] = "weights"

    def settle(self, world: int) -> Matrices:
        return read(self.path, world)

    def weights(self, world: int, turn: int, seed: int) -> Weights:
        raise AssertionError("settle() reads the file")

    def traits(self) -> dict[str, object]:
        return {"static": "one matrix is, several are not", "gap": "see laconic doctor --weights FILE"}


@dataclass(frozen=True)
class Matrices(AbstractGraph):
    """What was in the file."""

    path: str
    rounds: tuple[tuple[tuple[float, ...], ...], ...]

    name: ClassVar[str] = "weights"

    def __str__(self) -> str:
        return str(WeightFile(self.path))

    @property
    def static(self) -> bool:
        return len(self.rounds) == 1

    @property
    def symmetric(self) -> bool:
        return all(rows == tuple(zip(*rows, strict=True)) for rows in self.rounds)

    def period(self, world: int) -> int:
        return len(self.rounds)

    def weights(self, world: int, turn: int, seed: int) -> Weights:
        rows = self.rounds[turn % len(self.rounds)]
        return Weights(tuple({j: w for j, w in enumerate(row) if w} for row in rows))


def read(path: str, world: int | None = None) -> Matrices:
    """PlanError where it is not square matrices of `world` rows (None: of any number)."""
    try:
        if Path(path).stat().st_size > _LARGEST_BYTES:
            raise PlanError(f"weights('{path}'): a file of more than 16 MiB.")
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise PlanError(f"weights('{path}'): the file cannot be read: {error}.") from error
    rounds: list[list[tuple[float, ...]]] = [[]]
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].replace(",", " ").split()
        if words:
            rounds[-1].append(tuple(_number(word, path, number) for word in words))
        elif not line.strip() and rounds[-1]:
            rounds.append([])
    matrices = tuple(tuple(rows) for rows in rounds if rows)
    size = world or (len(matrices[0]) if matrices else 0)
    for rows in matrices or ((),):
        if len(rows) != size or any(len(row) != size for row in rows):
            shape = f"{len(rows)} rows of {sorted({len(row) for row in rows})} numbers"
            raise PlanError(
                f"weights('{path}'): {size or 'some'} workers need {size or 'as many'} rows of as many "
                f"numbers, the file has {shape}."
            )
    return Matrices(path, matrices)


def _number(word: str, path: str, line: int) -> float:
    above, bar, below = word.partition("/")
    try:
        return float(above) / (float(below) if bar else 1.0)
    except (ValueError, ZeroDivisionError):
        raise PlanError(f"weights('{path}'), line {line}: {word!r} is not a number or a fraction.") from None

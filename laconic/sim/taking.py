"""In which order servers take updates in, and whom they answer then (the rules of server/table.py, in virtual time).

    any order   an update is taken in, and its worker answered, when it comes
    in turn     ... when that of the worker before has been                                     r2sp
    in rounds   the first n - b updates of a version are; what comes later is dropped and answered at once     backup(b)

Differs: turns and rounds are of whole updates, where each server has its own.
"""

from __future__ import annotations

from typing import Protocol


class Taking(Protocol):
    def arrived(self, worker: int) -> list[int]:
        """A worker's update is there: who is answered?"""

    def over(self, steps: int) -> bool:
        """Has the shared model made so many steps, whoever made them?"""


class InTurn:
    def __init__(self, world: int) -> None:
        self._world, self._next = world, 0
        self._held: set[int] = set()

    def arrived(self, worker: int) -> list[int]:
        self._held.add(worker)
        out = []
        while self._next in self._held:
            self._held.remove(self._next)
            out.append(self._next)
            self._next = (self._next + 1) % self._world
        return out

    def over(self, steps: int) -> bool:
        return False


class InRounds:
    def __init__(self, world: int, backup: int) -> None:
        self._quorum = max(1, world - backup)
        self._version, self._read = 0, [0] * world
        self._held: list[int] = []

    def arrived(self, worker: int) -> list[int]:
        if self._read[worker] < self._version:
            self._read[worker] = self._version
            return [worker]
        self._held.append(worker)
        if len(self._held) < self._quorum:
            return []
        self._version += 1
        out, self._held = self._held, []
        for other in out:
            self._read[other] = self._version
        return out

    def over(self, steps: int) -> bool:
        return self._version >= steps

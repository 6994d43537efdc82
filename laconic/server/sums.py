"""Sums and maxima over all workers, piece by piece, in rank order whoever comes first: a run repeats bit for bit."""

from __future__ import annotations

import torch
from torch import Tensor

from laconic.core.errors import MismatchError

MAXIMUM = 1


class Total:
    """One piece of a tensor under way; complete when every rank's has been added."""

    def __init__(self, world: int) -> None:
        self.world = world
        self._total: Tensor | None = None
        self._operation = 0
        self._next = 0
        self._waiting: dict[int, Tensor] = {}

    def missing(self) -> list[int]:
        return [r for r in range(self._next, self.world) if r not in self._waiting]

    def add(self, rank: int, t: Tensor, operation: int) -> Tensor | None:
        """The result if this was the last. `t` is given away."""
        self._check(rank, t, operation)
        self._waiting[rank] = t
        while self._next in self._waiting:
            self._put(self._waiting.pop(self._next))
            self._next += 1
        return self._total if self._next == self.world else None

    def _check(self, rank: int, t: Tensor, operation: int) -> None:
        if rank < self._next or rank in self._waiting:
            raise MismatchError(f"Rank {rank} sent the same piece twice.")
        others = [*self._waiting.values()] if self._total is None else [self._total]
        for other in others[:1]:
            if (other.shape, other.dtype, self._operation) != (t.shape, t.dtype, operation):
                raise MismatchError(
                    f"Rank {rank} adds {t.dtype} of shape {tuple(t.shape)} where others add {other.dtype} of shape "
                    f"{tuple(other.shape)}: ranks are not at the same place or plan."
                )
        if operation not in (0, MAXIMUM):
            raise MismatchError(f"Rank {rank} asks for operation {operation}; 0 is a sum and 1 a maximum.")
        self._operation = operation

    def _put(self, t: Tensor) -> None:
        if self._total is None:
            self._total = t
        elif self._operation == MAXIMUM:
            torch.maximum(self._total, t, out=self._total)
        else:
            self._total += t

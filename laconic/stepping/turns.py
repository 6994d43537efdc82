"""Which buckets take part in which turn: all of them, or under `blocks` one block after the other."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import torch
from torch.nn.functional import softshrink

from laconic.buckets import Bucket
from laconic.core.errors import PlanError
from laconic.sync import AbstractSync, Blocks


class Turns:
    def __init__(self, sync: AbstractSync, buckets: list[Bucket]) -> None:
        self._sync, self._buckets = sync if isinstance(sync, Blocks) else None, buckets
        if self._sync is not None and self._sync.count > len(buckets):
            raise PlanError(
                f"{sync} wants at least {self._sync.count} buckets, and this model has {len(buckets)}: some steps "
                f"would move nothing. Take fewer blocks or smaller buckets, as in `{sync} / fused(64KiB)`."
            )
        self.late: list[Bucket] = []  # under way since the last step
        self._moved: list[Bucket] = []

    @property
    def delay(self) -> bool:
        return self._sync is not None and self._sync.delay > 0

    def live(self, turn: int) -> list[Bucket]:
        """Those of this turn; one that is under way counts as gone by."""
        sync = self._sync
        if sync is None:
            return self._buckets
        block = sync.block(turn + bool(self.late))
        return [b for b in self._buckets if b.spec.id % sync.count == block]

    def move(self, moved: list[Bucket]) -> None:
        """These get gradients now; the others keep still."""
        self._moved = moved
        if self._sync is not None:
            for p in chain(*(b.params for b in self._buckets if self.delay or b not in moved)):
                p.grad = None

    @torch.no_grad()
    def shrink(self, lr: Callable[[Bucket], float]) -> None:
        """The soft threshold of an l1 penalty, after the step."""
        if self._sync is not None and self._sync.l1:
            for bucket in self._moved:
                for p in bucket.params:
                    p.copy_(softshrink(p, self._sync.l1 * lr(bucket)))

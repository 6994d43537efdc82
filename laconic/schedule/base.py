"""IN WHAT ORDER messages leave: how parameters are cut into buckets, and when a bucket may start.

Both are decided from what every rank knows alike, because all ranks must start the same collectives in the same order:
gloo gives silently wrong sums otherwise. What is decided from measured times is decided by rank 0 and applied by all at
the same step (see laconic/pilot.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from laconic.core.component import Component
from laconic.schedule.profile import Profile


@dataclass(frozen=True)
class Item:
    """One parameter: its size, and the kind (dtype, device) that may share a bucket."""

    nbytes: int
    kind: Hashable


class AbstractSchedule(Component, ABC):
    folder: ClassVar[str] = "schedule"
    overlaps: ClassVar[bool]  # may a bucket start while the backward pass still runs?
    crosses: ClassVar[bool] = False  # may it end during the next forward pass?
    halves: ClassVar[bool] = False  # is only its first round made during backward, the rest before its first use?

    @property
    def recuts(self) -> bool:
        """Are gradients merged anew after a few steps were measured?"""
        return type(self).recut is not AbstractSchedule.recut

    @property
    def is_measured(self) -> bool:
        """Does it depend on what a few steps show?"""
        return self.crosses or self.recuts

    @property
    def chunk_bytes(self) -> int | None:
        """Buckets are cut into messages of at most so many bytes; None: they are not."""
        return None

    @property
    def credit_bytes(self) -> int | None:
        """So many bytes may be under way at once; None: as many lanes as there are."""
        return None

    @property
    def guarded(self) -> bool:
        """Is what was measured kept only if a short A/B shows that it is not slower?"""
        return True

    @abstractmethod
    def cut(self, items: Sequence[Item]) -> list[list[int]]:
        """Buckets of item numbers, in launch order; items come in the order of registration."""

    def recut(self, items: Sequence[Item], profile: Profile) -> list[list[int]] | None:
        """The same after a few steps were measured; None: `cut` stays."""
        return None

    def urgency(self, items: Sequence[Item], profile: Profile) -> list[int] | None:
        """Which item is needed how early in the forward pass, smaller first; None: messages leave in bucket order."""
        return None

    def barrier(self) -> AbstractSchedule:
        """How it would cut buckets if steps were not delayed."""
        return self

    def candidates(self) -> tuple[AbstractSchedule, ...]:
        """Settings to try where one of them is 'auto'."""
        return ()

    @abstractmethod
    def traits(self) -> dict[str, object]: ...


def fill(items: Sequence[Item], caps: Sequence[int], *, strict: bool = False) -> list[list[int]]:
    """Fill buckets from the last item to the first, one open bucket a kind; one closes when it reaches its cap.

    Each kind goes through the caps by itself, the last one serving all its later buckets. Buckets stand in the order in
    which they will be full: where their last item stands. `strict`: one closes before it would exceed its cap.
    """
    buckets: list[list[int]] = []
    opened: dict[Hashable, list[int]] = {}
    count: Counter[Hashable] = Counter()
    for i in reversed(range(len(items))):
        kind = items[i].kind
        cap = caps[min(count[kind], len(caps) - 1)]
        if strict and kind in opened and sum(items[j].nbytes for j in opened[kind]) + items[i].nbytes > cap:
            del opened[kind]
            count[kind] += 1
        if kind not in opened:
            opened[kind] = []
            buckets.append(opened[kind])
        opened[kind].append(i)
        if sum(items[j].nbytes for j in opened[kind]) >= cap:
            del opened[kind]
            count[kind] += 1
    return sorted(buckets, key=lambda bucket: -bucket[-1])

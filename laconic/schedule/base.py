"""IN WHAT ORDER messages leave: how parameters are cut into buckets, and when a bucket may start.

Both are decided before training from what every rank knows alike, because all ranks must start the same
collectives in the same order: gloo gives silently wrong sums otherwise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from laconic.core.component import Component


@dataclass(frozen=True)
class Item:
    """One parameter: its size, and the kind (dtype, device) that may share a bucket."""

    nbytes: int
    kind: Hashable


class AbstractSchedule(Component, ABC):
    folder: ClassVar[str] = "schedule"
    overlaps: ClassVar[bool]  # may a bucket start while the backward pass still runs?

    @abstractmethod
    def cut(self, items: Sequence[Item]) -> list[list[int]]:
        """Buckets of item numbers, in launch order; items come in the order of registration."""

    @abstractmethod
    def traits(self) -> dict[str, object]: ...


def fill(items: Sequence[Item], caps: Sequence[int]) -> list[list[int]]:
    """Fill buckets from the last item to the first, one open bucket a kind; one closes when it reaches its cap.

    Each kind goes through the caps by itself, the last one serving all its later buckets. Buckets stand in the order in
    which they will be full: where their last item stands.
    """
    buckets: list[list[int]] = []
    opened: dict[Hashable, list[int]] = {}
    count: Counter[Hashable] = Counter()
    for i in reversed(range(len(items))):
        kind = items[i].kind
        if kind not in opened:
            opened[kind] = []
            buckets.append(opened[kind])
        opened[kind].append(i)
        if sum(items[j].nbytes for j in opened[kind]) >= caps[min(count[kind], len(caps) - 1)]:
            del opened[kind]
            count[kind] += 1
    return sorted(buckets, key=lambda bucket: -bucket[-1])

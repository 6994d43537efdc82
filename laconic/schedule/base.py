"""IN WHAT ORDER messages leave: how parameters are cut into buckets, and when a bucket may start.

Both are decided before training from what every rank knows alike, because all ranks must start the same
collectives in the same order: gloo gives silently wrong sums otherwise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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
    """Fill buckets from the last item to the first; a bucket closes when it reaches its cap.

    The last cap serves all later buckets. A change of kind also closes a bucket.
    """
    buckets: list[list[int]] = []
    size, closed = 0, True
    for i in reversed(range(len(items))):
        if closed or items[buckets[-1][-1]].kind != items[i].kind:
            buckets.append([])
            size = 0
        buckets[-1].append(i)
        size += items[i].nbytes
        closed = size >= caps[min(len(buckets), len(caps)) - 1]
    return buckets

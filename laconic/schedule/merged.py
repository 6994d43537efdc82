"""Gradients that come one after the other share a message: where one ends is decided from measured times.

Until a few steps were measured, buckets are those of `fused`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from laconic.schedule.base import Item
from laconic.schedule.fused import Fused
from laconic.schedule.measured import AbstractMeasured
from laconic.schedule.profile import Profile


class AbstractMerged(AbstractMeasured):
    def cut(self, items: Sequence[Item]) -> list[list[int]]:
        return Fused().cut(items)


def in_runs(
    items: Sequence[Item], profile: Profile, ends: Callable[[list[float], list[int]], list[int]]
) -> list[list[int]]:
    """Buckets of gradients that come one after the other, each kind by itself; `ends` says where buckets close."""
    order = sorted(range(len(items)), key=lambda i: (profile.ready_s[i], -i))
    buckets: list[list[int]] = []
    for kind in dict.fromkeys(items[i].kind for i in order):
        mine = [i for i in order if items[i].kind == kind]
        begin = 0
        for stop in ends([profile.ready_s[i] for i in mine], [items[i].nbytes for i in mine]):
            buckets.append(mine[begin:stop])
            begin = stop
    return sorted(buckets, key=lambda bucket: order.index(bucket[-1]))

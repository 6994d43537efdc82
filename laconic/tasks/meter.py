"""What a run cost: seconds per step on this rank, exposed wait, and bytes on the wire since training began."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import fmean, median
from typing import Any, TypeAlias

from laconic.integrations.ddp_baseline import DdpReplica
from laconic.replica import Replica

WARMUP_STEPS = 5  # allocators, thread pools and connections settle in the first few


AnyReplica: TypeAlias = Replica | DdpReplica


class Meter:
    """Times each step; evaluation happens outside of `step()` and costs nothing."""

    def __init__(self, replica: AnyReplica, clock: Callable[[], float] = time.perf_counter) -> None:
        self.replica = replica
        self.clock = clock
        self.wire_bytes_before = replica.stats.wire_bytes
        self.dense_bytes_before = replica.stats.dense_bytes
        self.step_s: list[float] = []
        self.wait_s: list[float | None] = []
        self.tx_bytes: int | None = None  # on the interface during steps; None outside a lab

    @contextmanager
    def step(self) -> Iterator[None]:
        wait_before, tx_before = self._readings()
        started = self.clock()
        yield
        self.step_s.append(self.clock() - started)
        wait_after, tx_after = self._readings()
        self.wait_s.append(None if wait_before is None or wait_after is None else wait_after - wait_before)
        if tx_before is not None and tx_after is not None:
            self.tx_bytes = (self.tx_bytes or 0) + tx_after - tx_before

    def _readings(self) -> tuple[float | None, int | None]:
        stats = self.replica.stats
        return stats.exposed_wait_s, stats.tx_bytes

    @property
    def seconds(self) -> float:
        return sum(self.step_s)

    def recent_step_s(self) -> float:
        return median(self.step_s[-20:])

    def bytes_so_far(self) -> tuple[int, int]:
        """Bytes this rank sent, and those a dense all-reduce would have sent."""
        stats = self.replica.stats
        return stats.wire_bytes - self.wire_bytes_before, stats.dense_bytes - self.dense_bytes_before

    def timings(self) -> dict[str, Any]:
        """Of all steps but the first few. The mean is there for plans whose steps differ, such as local(H).

        The exposed wait is None where nobody knows it: DDP does not tell.
        """
        skip = min(WARMUP_STEPS, len(self.step_s) // 2)
        timed = self.step_s[skip:]
        waits = [wait_s for wait_s in self.wait_s[skip:] if wait_s is not None]
        return {
            "step_s_median": median(timed),
            "step_s": {"min": min(timed), "mean": fmean(timed), "max": max(timed)},
            "exposed_wait_s_per_step": fmean(waits) if waits else None,
        }

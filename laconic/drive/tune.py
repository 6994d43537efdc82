"""Measures what `allreduce(auto)` chooses from: every candidate at a few sizes, when training starts.

Candidates take turns, three times after a first that is thrown away; the median of the slowest rank counts, so the
table is the same everywhere. Larger sizes are left out once more than `PATIENCE_S` was spent: on a slow link the lines
through the smaller ones go on.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import torch
import torch.distributed as dist
from torch import Tensor

from laconic.core.clock import Clock, WallClock
from laconic.drive.hops import run_in_order, run_tagged, tags
from laconic.topology import programs
from laconic.topology.allreduce import NATIVE
from laconic.topology.choice import Choice, candidates

SIZES = (2**11, 2**15, 2**19)  # bytes
REPETITIONS = 3
PATIENCE_S = 1.0


def measured(group: dist.ProcessGroup, device: torch.device, clock: Clock | None = None) -> Choice:
    """All ranks must call it together."""
    clock = clock or WallClock()
    names = candidates(dist.get_world_size(group))
    rows: list[list[float]] = []
    started = clock.now()
    for nbytes in SIZES:
        t = torch.zeros(nbytes // 4, device=device)
        mine = _medians({name: _call(name, t, group) for name in names}, group, device, clock)
        told = torch.tensor([*mine, clock.now() - started], dtype=torch.float64, device=device)
        dist.all_reduce(told, dist.ReduceOp.MAX, group=group)
        *row, spent = told.tolist()
        rows.append(row)
        if spent > PATIENCE_S and len(rows) > 1:
            break
    columns = zip(*rows, strict=True)
    return Choice(SIZES[: len(rows)], tuple((name, tuple(c)) for name, c in zip(names, columns, strict=True)))


def _medians(
    calls: dict[str, Callable[[], None]], group: dist.ProcessGroup, device: torch.device, clock: Clock
) -> list[float]:
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(1 + REPETITIONS):
        for name, call in calls.items():
            dist.all_reduce(torch.zeros(1, device=device), group=group)  # all start together
            _settle(device)
            before = clock.now()
            call()
            _settle(device)
            taken[name].append(clock.now() - before)
    return [median(times[1:]) for times in taken.values()]


def _call(name: str, t: Tensor, group: dist.ProcessGroup) -> Callable[[], None]:
    if name == NATIVE:
        return lambda: _discard(dist.all_reduce(t, group=group))
    program = programs.build(name, dist.get_rank(group), dist.get_world_size(group), t.numel())
    if t.is_cuda:
        return lambda: run_in_order(program, t, torch.add, group)
    return lambda: run_tagged(program, t, torch.add, group, next(tags(0, 0)))


def _discard(_: object) -> None:
    return None


def _settle(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)

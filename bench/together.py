"""n virtual workers of one training run in one process: each a whole `Replica`, exchanges answered in lockstep.

Every worker is a thread with its own model, optimizer and batches, and runs what a process would run: hooks, buckets,
states, vote. Only the driver differs. A worker that finishes its backward pass waits until the last one does, who
answers everybody's exchanges (drive/lockstep.py). Whoever computes holds the lock that the waiting have let go, so one
thread works at a time and a run is repeatable bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Condition, Thread
from typing import Any

import torch
from torch import nn

from laconic import inventory
from laconic.core.exchange import Exchange, Exchanged, Seat
from laconic.drive.base import Place
from laconic.drive.lockstep import lockstep
from laconic.net.link import Link
from laconic.plan import Plan
from laconic.replica import Replica


class Table:
    """Where the exchanges of n workers meet."""

    def __init__(self, world: int) -> None:
        self.links = [Link() for _ in range(world)]
        self.baton = Condition()
        self.failed: BaseException | None = None
        self._told: dict[int, list[Exchange]] = {}
        self._heard: dict[int, list[Exchanged]] = {}

    def meet(self, rank: int, programs: list[Exchange]) -> list[Exchanged]:
        self._told[rank] = programs
        if len(self._told) == len(self.links):
            ranks, self._told = [self._told[r] for r in range(len(self.links))], {}
            with torch.no_grad():
                columns = [lockstep(column, self.links) for column in zip(*ranks, strict=True)]
            self._heard = {r: [column[r] for column in columns] for r in range(len(self.links))}
            self.baton.notify_all()
        self.baton.wait_for(lambda: rank in self._heard or self.failed)
        if self.failed:
            raise RuntimeError("Another worker failed.")
        return self._heard.pop(rank)


class AtTable:
    """The driver of one worker."""

    waited_s = 0.0

    def __init__(self, table: Table, rank: int) -> None:
        self.table, self.rank = table, rank
        self._launched: list[Exchange] = []

    def launch(self, place: Place, program: Exchange) -> None:
        self._launched.append(program)

    def finish(self) -> list[Exchanged]:
        launched, self._launched = self._launched, []
        return self.table.meet(self.rank, launched)


def distribute(
    model: nn.Module, optimizer: torch.optim.Optimizer, plan: Plan, table: Table, rank: int, seed: int
) -> Replica:
    seat = Seat(rank, len(table.links), plan.topology, seed)
    found = inventory.take(model, optimizer)
    return Replica(found, optimizer, plan, seat, AtTable(table, rank), table.links[rank], "raise")


def together(world: int, work: Callable[[int, Table], Any]) -> Sequence[Any]:
    """What `work(rank, table)` returns, over ranks."""
    table, out = Table(world), [None] * world

    def run(rank: int) -> None:
        with table.baton:
            try:
                out[rank] = work(rank, table)
            except BaseException as error:  # noqa: BLE001  (raised again below, in the caller's thread)
                table.failed = table.failed or error
                table.baton.notify_all()

    threads = [Thread(target=run, args=(rank,), daemon=True) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if table.failed:
        raise table.failed
    return out

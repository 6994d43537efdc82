"""What rides at the end of the last plain bucket of a step: the vote, and the running statistics of norm layers.

Each is a few hundred bytes and would cost a collective of its own: few bytes, but on small models as much time as the
gradients. All is known when the last bucket leaves, because buckets leave in order. Behind its gradients is room for

    statistics / world | which parameters have a gradient (0 or 1) | which hold NaN or infinity (0 or 1)

Sums of flags are exact. Where nobody objects they say all there is to know. Where somebody does, all ranks see it alike
and hold the long vote (census.py), which names the rank and the parameter. Where the last bucket is no plain sum, the
riders share a message of their own; only statistics of some size leave before them, while backward goes on.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from laconic import lazily
from laconic.buckets import Bucket, Unit
from laconic.census import Verdict
from laconic.core.exchange import Exchanged, Seat
from laconic.inventory import Inventory
from laconic.plan import Plan
from laconic.sync import Blocks
from laconic.sync.rounds import AbstractRounds
from laconic.topology import AllReduce

FEW_BYTES = 1 << 14  # of statistics: no longer on the way than a small message waits anyway

Flags = tuple[list[bool], list[bool]]  # by parameter: has it a gradient here, and is that not finite?


class Riders:
    """Those of one rank."""

    def __init__(self, plan: Plan, inventory: Inventory, seat: Seat) -> None:
        self._plan, self._inventory, self._seat = plan, inventory, seat
        self.carrier: Bucket | None = None  # the bucket they ride with in this turn
        self.late = answers_late(plan)
        self.delayed = False  # are steps taken during the next forward pass, long after the vote? (crossing.py)
        self._few = wait(plan, inventory.statistics())
        self._mine: Flags | None = None  # this rank's vote, while it is under way

    @property
    def with_statistics(self) -> bool:
        """Where there is no carrier."""
        return self._few and not self.delayed

    @property
    def aboard(self) -> bool:
        return self._mine is not None

    def settle(self, line: Sequence[Unit], live: Sequence[Bucket]) -> None:
        """Another turn, of these buckets in this order."""
        line = () if self.delayed else line
        self.carrier = make_room(self._plan, line, live, self._inventory.statistics())

    def ride(self, carrier: Bucket, mine: Flags) -> None:
        self._mine = mine
        board(carrier.whole[carrier.spec.numel :], self._inventory.statistics(), *mine, self._seat.world)

    def walk(self, mine: Flags) -> Tensor:
        """A message of their own, to be added up over all ranks."""
        self._mine = mine
        statistics = self._inventory.statistics() if self.with_statistics else []
        seats = sum(t.numel() for t in statistics) + 2 * len(mine[0])
        room = torch.empty(seats, dtype=torch.float32, device=self._seat.device)
        board(room, statistics, *mine, self._seat.world)
        return room

    def arrive(self, outs: list[Exchanged], *, alone: bool) -> tuple[Tensor, Verdict, Flags]:
        """Mean statistics (none, if they left before), what the sums of flags say, and the flags of this rank. What is
        theirs is taken out of `outs`: its last, or the state of the last."""
        assert self._mine is not None, "nobody has left"
        mine, self._mine = self._mine, None
        if alone:
            room = outs.pop().state
        else:
            room, outs[-1] = outs[-1].state, outs[-1]._replace(state=())
        return *alight(room, len(mine[0])), mine


def make_room(plan: Plan, line: Sequence[Unit], live: Sequence[Bucket], statistics: Sequence[Tensor]) -> Bucket | None:
    """Which of these buckets, launched in this order, carries the riders; it gets room. None: they go on their own."""
    for bucket in live:
        bucket.room = 0
    last = carrier(plan, line, live)
    if last is None or any(t.dtype != torch.float32 for t in statistics):
        return None
    last.room = sum(t.numel() for t in statistics) + 2 * sum(len(b.params) for b in live)
    return last


def carrier(plan: Plan, line: Sequence[Unit], live: Sequence[Bucket]) -> Bucket | None:
    """The last bucket, if all of it is one sum that is waited for in this step."""
    if not line or line[-1].chunk >= 0 or not isinstance(plan.topology, AllReduce):
        return None
    if lazily.concerns(plan.sync) or answers_late(plan):
        return None
    last = next(b for b in live if b.spec.id == line[-1].bucket)
    return last if last.plain and last.spec.dtype == torch.float32 else None


def answers_late(plan: Plan) -> bool:
    """Is what is sent looked at some steps later, or by one rank alone that saves its state? Then the long vote goes at
    once: nobody may need a second answer from ranks that do something else."""
    sync = plan.sync
    return (isinstance(sync, Blocks) and sync.delay > 0) or (isinstance(sync, AbstractRounds) and sync.lag > 0)


def wait(plan: Plan, statistics: Sequence[Tensor]) -> bool:
    """Do statistics go with the vote, or before it?"""
    few = sum(t.nbytes for t in statistics) <= FEW_BYTES and all(t.dtype == torch.float32 for t in statistics)
    return few and not answers_late(plan)


def board(room: Tensor, statistics: Sequence[Tensor], used: Sequence[bool], bad: Sequence[bool], world: int) -> None:
    """Take the seats: this rank's part of the sum."""
    flags = torch.tensor([*used, *bad], dtype=room.dtype, device=room.device)
    at = 0
    for t in statistics:  # which may live on other devices
        room[at : at + t.numel()].copy_(t.reshape(-1))
        at += t.numel()
    room[:at].mul_(1.0 / world)
    room[room.numel() - flags.numel() :] = flags


def alight(room: Tensor, count: int) -> tuple[Tensor, Verdict]:
    """The mean statistics, and what the flags of `count` parameters say; who objected is not known yet."""
    means, flags = room[: room.numel() - 2 * count], room[room.numel() - 2 * count :]
    told = (flags > 0.5).tolist()
    return means.clone(), Verdict(tuple(told[:count]), tuple(told[count:]), None)

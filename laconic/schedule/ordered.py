"""TIC and TAC as schedules: whole buckets, those the next forward pass needs first before the rest.

The orders are in schedule/tictac.py. Hashemi, Jyothi, Campbell, TicTac, MLSys 2019, arXiv:1803.03288. Differs: the
paper orders what workers pull from servers; here messages of either kind leave in that order, and the pass that was
observed is a chain of gates, for which both orders are that of first use unless TAC knows better from times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from laconic.core.units import parse_bytes
from laconic.schedule import tictac
from laconic.schedule.base import ON, AbstractSchedule, Item, check_switch, fill
from laconic.schedule.profile import Profile


@dataclass(frozen=True)
class Tic(AbstractSchedule):
    """Send whole buckets in the order in which the next forward pass needs them, by its structure alone."""

    bucket: str = "4MiB"
    guard: str = ON

    name: ClassVar[str] = "tic"
    paper: ClassVar[str] = "hashemi2019tictac"
    overlaps: ClassVar[bool] = True
    crosses: ClassVar[bool] = True

    def __post_init__(self) -> None:
        parse_bytes(self.bucket)
        check_switch(self.name, self.guard)

    @property
    def guarded(self) -> bool:
        return self.guard == ON

    def cut(self, items: Sequence[Item]) -> list[list[int]]:
        return fill(items, [parse_bytes(self.bucket)])

    def urgency(self, items: Sequence[Item], profile: Profile) -> list[int]:
        return _ranks(tictac.tic(_pass(profile), len(items)))

    def traits(self) -> dict[str, object]:
        return {"overlaps": "backward and the next forward pass", "buckets": self.bucket}


@dataclass(frozen=True)
class Tac(AbstractSchedule):
    """Send whole buckets in the order in which the next forward pass needs them, by measured times."""

    bucket: str = "4MiB"
    guard: str = ON

    name: ClassVar[str] = "tac"
    paper: ClassVar[str] = "hashemi2019tictac"
    overlaps: ClassVar[bool] = True
    crosses: ClassVar[bool] = True

    def __post_init__(self) -> None:
        parse_bytes(self.bucket)
        check_switch(self.name, self.guard)

    @property
    def guarded(self) -> bool:
        return self.guard == ON

    def cut(self, items: Sequence[Item]) -> list[list[int]]:
        return fill(items, [parse_bytes(self.bucket)])

    def urgency(self, items: Sequence[Item], profile: Profile) -> list[int]:
        return _ranks(tictac.tac(_pass(profile), [profile.cost(item.nbytes) for item in items]))

    def traits(self) -> dict[str, object]:
        return {"overlaps": "backward and the next forward pass", "buckets": self.bucket}


def _pass(profile: Profile) -> list[tictac.Operation]:
    gates = len(profile.forward_s)
    users: list[list[int]] = [[] for _ in range(gates)]
    for item, gate in enumerate(profile.first_use):
        if gate < gates:
            users[gate].append(item)
    return tictac.chain(list(zip(users, profile.forward_s, strict=True)))


def _ranks(order: Sequence[int]) -> list[int]:
    """Each item's place in an order."""
    out = [0] * len(order)
    for place, item in enumerate(order):
        out[item] = place
    return out

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
from laconic.schedule.base import Item, fill
from laconic.schedule.measured import ON, AbstractMeasured
from laconic.schedule.profile import Profile


class AbstractOrdered(AbstractMeasured):
    """Whole buckets of one size, filled as `fused` fills them."""

    bucket: str
    paper: ClassVar[str] = "hashemi2019tictac"
    crosses: ClassVar[bool] = True

    def __post_init__(self) -> None:
        parse_bytes(self.bucket)
        super().__post_init__()

    def cut(self, items: Sequence[Item]) -> list[list[int]]:
        return fill(items, [parse_bytes(self.bucket)])

    def traits(self) -> dict[str, object]:
        return {"overlaps": "backward and the next forward pass", "buckets": self.bucket}


@dataclass(frozen=True)
class Tic(AbstractOrdered):
    """Send whole buckets in the order in which the next forward pass needs them, by its structure alone."""

    bucket: str = "4MiB"
    guard: str = ON

    name: ClassVar[str] = "tic"

    def urgency(self, items: Sequence[Item], profile: Profile) -> list[int]:
        return _ranks(tictac.tic(_pass(profile), len(items)))


@dataclass(frozen=True)
class Tac(AbstractOrdered):
    """Send whole buckets in the order in which the next forward pass needs them, by measured times."""

    bucket: str = "4MiB"
    guard: str = ON

    name: ClassVar[str] = "tac"

    def urgency(self, items: Sequence[Item], profile: Profile) -> list[int]:
        return _ranks(tictac.tac(_pass(profile), [profile.cost(item.nbytes) for item in items]))


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

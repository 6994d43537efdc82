"""For compressors whose formula holds only for the mean itself: always gather, never deal and round again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from laconic.core.exchange import Route, Seat, Turn


@dataclass(frozen=True)
class _GatherAlways:
    def route(self, sparse: bool, world: int) -> Route:
        return Route.GATHER


def seat_that_gathers(seat: Seat) -> Seat:
    return replace(seat, router=_GatherAlways())


def turn_that_gathers(turn: Turn) -> Turn:
    return replace(turn, seat=seat_that_gathers(turn.seat))

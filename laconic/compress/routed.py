"""For compressors whose formula holds on one route only, whichever the topology would choose."""

from __future__ import annotations

from dataclasses import dataclass, replace

from laconic.core.exchange import Route, Seat, Turn


@dataclass(frozen=True)
class _Always:
    taken: Route

    def route(self, sparse: bool, world: int) -> Route:
        return self.taken


def seat_on(route: Route, seat: Seat) -> Seat:
    return replace(seat, router=_Always(route))


def turn_on(route: Route, turn: Turn) -> Turn:
    return replace(turn, seat=seat_on(route, turn.seat))

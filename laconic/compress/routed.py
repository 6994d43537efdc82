"""For compressors whose formula holds on one route only, whichever the topology would choose."""

from __future__ import annotations

from dataclasses import dataclass, replace

from laconic.core.exchange import Route, Seat, Turn


@dataclass(frozen=True)
class Always:
    taken: Route
    count: int = 0

    def route(self, sparse: bool, world: int) -> Route:
        return self.taken

    def owners(self, world: int) -> int:
        return self.count


def seat_on(route: Route, seat: Seat) -> Seat:
    return replace(seat, router=Always(route, seat.router.owners(seat.world)))


def two_way(seat: Seat) -> Route:
    """The route on which what is sent and what comes back are both compressed."""
    served = seat.router.route(sparse=False, world=seat.world) is Route.SERVER
    return Route.SERVER if served else Route.DEAL


def turn_on(route: Route, turn: Turn) -> Turn:
    return replace(turn, seat=seat_on(route, turn.seat))

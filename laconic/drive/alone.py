"""The driver of a world of one: every question is answered with what was asked about."""

from __future__ import annotations

from laconic.core.exchange import Exchange, Exchanged
from laconic.drive.base import Place
from laconic.drive.lockstep import lockstep
from laconic.drive.shelf import Shelf
from laconic.net.link import Link


class Alone:
    def __init__(self, link: Link) -> None:
        self.link = link
        self.waited_s = 0.0
        self._shelf = Shelf()
        self._done: list[Exchanged] = []

    def launch(self, place: Place, program: Exchange) -> None:
        self._done += lockstep([program], [self.link], shelf=self._shelf)

    def finish(self) -> list[Exchanged]:
        done, self._done = self._done, []
        return done

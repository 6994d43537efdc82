"""Wakes a thread that waits for sockets: another rings, and the poll returns."""

from __future__ import annotations

from contextlib import suppress
from socket import socketpair


class Bell:
    def __init__(self) -> None:
        self.ear, self._hand = socketpair()
        self.ear.setblocking(False)
        self._hand.setblocking(False)

    def ring(self) -> None:
        """From any thread. Ringing often before anyone listens is ringing once."""
        with suppress(BlockingIOError):
            self._hand.send(b"!")

    def rang(self) -> bool:
        """Has it, since the last time?"""
        heard = False
        with suppress(BlockingIOError):
            while self.ear.recv(4096):
                heard = True
        return heard

    def close(self) -> None:
        self.ear.close()
        self._hand.close()

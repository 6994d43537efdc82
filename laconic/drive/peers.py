"""Waiting for messages between two ranks, a while at a time.

gloo takes a time limit on such a message for the end of the world: when it passes, all connections are closed
("Application timeout caused pair closure"), though the peer is only slow. So the messages are waited for in a thread
of their own, without a limit but the group's, and it is the thread that is waited for in slices.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any


class PeerWork:
    """Several sends and receives as one piece of work, with the surface of torch's own `Work`."""

    def __init__(self, works: Sequence[Any]) -> None:
        self._works = works
        self._error: Exception | None = None
        self._thread: threading.Thread | None = None

    def wait(self, timeout: timedelta | None = None) -> None:
        """RuntimeError where a connection broke, or where the time is up: then it may be called again."""
        if self._thread is None:
            if timeout is None or not self._works:
                for work in self._works:
                    work.wait()
                return
            self._thread = threading.Thread(target=self._run, name="laconic-peers", daemon=True)
            self._thread.start()
        self._thread.join(None if timeout is None else timeout.total_seconds())
        if self._thread.is_alive():
            raise RuntimeError("the time is up, the peers have not answered yet")
        if self._error is not None:
            raise self._error

    def is_completed(self) -> bool:
        return self._thread is not None and not self._thread.is_alive()

    def _run(self) -> None:
        try:
            for work in self._works:
                work.wait()
        except RuntimeError as error:
            self._error = error

"""A server in a thread of its own, beside a worker; the interpreter is shared, the sockets are real."""

from __future__ import annotations

import math
import threading
import time

from laconic.net.link import Link
from laconic.server.server import Server

LONGEST_FAREWELL_S = 30.0


class Beside:
    def __init__(self, server: Server) -> None:
        self.address = server.address
        self.link: Link = server.link
        self._server, self._end = server, math.inf
        self._thread = threading.Thread(target=server.run, args=(self._is_over,), name="laconic-server", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends when the last worker has left: others may still want what is on its way to them."""
        self._end = time.monotonic() + LONGEST_FAREWELL_S
        self._thread.join()

    def _is_over(self) -> bool:
        return self._end < math.inf and (not self._server.busy or time.monotonic() > self._end)

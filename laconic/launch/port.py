"""A port that stays ours until rank 0 listens on it.

The launcher binds the port and does not listen. Linux lets a second socket bind it too when both set SO_REUSEADDR and
none listens yet: torch's store does, so rank 0 gets it and nobody who asks for any free port is given it meanwhile.
Below 32768, where Linux starts to hand out ports by itself, so no connection of the job can sit on it either.
"""

from __future__ import annotations

import random
import socket

from laconic.core.errors import UsageError

PORTS = range(20000, 32768)
TRIES = 100


def reserve() -> socket.socket:
    """A bound socket; hold it while the job runs, then close it."""
    for port in random.SystemRandom().sample(PORTS, TRIES):
        held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind(("", port))
        except OSError:
            held.close()
            continue
        return held
    raise UsageError(
        f"none of {TRIES} ports between {PORTS.start} and {PORTS.stop - 1} is free. Stop what listens there."
    )

"""The only byte counter: what leaves this rank, collective by collective.

The backend moves the bytes; these formulas say how many leave one rank (headers of our messages included, those
of TCP/IP not). Measured on interface counters for gloo: all-reduce 2(n-1)/n S, all-gather (n-1) S, all-to-all
what is addressed to others. gloo's own reduce-scatter moves as much as an all-reduce, so it is not used. In a lab
the interface's own counter stands beside ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from laconic.net.interface import transmitted_bytes


def all_reduce_bytes(nbytes: int, world: int) -> int:
    """What one rank sends for a ring all-reduce of nbytes."""
    return round(2 * (world - 1) / world * nbytes)


@dataclass
class Link:
    sent_bytes: int = 0
    messages: int = 0
    interface: str | None = field(default=None, compare=False)
    _before: int = field(default=0, compare=False, repr=False)
    _lock: Lock = field(default_factory=Lock, compare=False, repr=False)

    def watch(self, interface: str | None) -> None:
        """From here on `tx_bytes` tells what this interface sends."""
        self.interface = interface
        self._before = 0 if interface is None else transmitted_bytes(interface)

    @property
    def tx_bytes(self) -> int | None:
        """What the kernel counted on the interface since `watch`, packet headers included; None: none is watched."""
        return None if self.interface is None else transmitted_bytes(self.interface) - self._before

    def all_reduce(self, nbytes: int, world: int) -> None:
        self._count(all_reduce_bytes(nbytes, world), 2 * (world - 1))

    def all_gather(self, nbytes: int, world: int) -> None:
        self._count((world - 1) * nbytes, world - 1)

    def all_to_all(self, lengths: Sequence[int], rank: int) -> None:
        others = [n for r, n in enumerate(lengths) if r != rank]
        self._count(sum(others), len(others))

    def send(self, nbytes: int, peers: int) -> None:
        self._count(nbytes * peers, peers)

    def broadcast(self, nbytes: int, rank: int, world: int) -> None:
        """Counted for the root, as if it sent one copy to each; who forwards is the backend's choice."""
        self._count((world - 1) * nbytes if rank == 0 else 0, world - 1 if rank == 0 else 0)

    def _count(self, nbytes: int, messages: int) -> None:
        with self._lock:  # lanes count side by side
            self.sent_bytes += nbytes
            self.messages += messages

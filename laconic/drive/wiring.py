"""Which server gets which piece: pure functions of sizes and ranks, the same on all workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from laconic.compress.one_shot import chunks

PIECE_BYTES = 256 << 10
SMALL_BYTES = 64 << 10  # what is smaller goes to one server


class Piece(NamedTuple):
    """A range of a tensor or message on its way to a server."""

    part: int
    stripe: int
    server: int
    start: int
    stop: int


@dataclass(frozen=True)
class Wiring:
    """Who I am, and the names of the servers in order."""

    rank: int
    world: int
    servers: tuple[str, ...]
    beside: frozenset[int] = frozenset()  # servers that live in this process
    colocated: bool = False  # server r lives beside worker r
    sums: tuple[int, ...] = ()  # the servers that add up; empty: all
    relays: tuple[int, ...] = ()  # those for everything else; empty: all

    @property
    def adding(self) -> tuple[int, ...]:
        return self.sums or tuple(range(len(self.servers)))

    @property
    def relaying(self) -> tuple[int, ...]:
        return self.relays or tuple(range(len(self.servers)))

    def pieces(self, numel: int, element_bytes: int, salt: int) -> list[Piece]:
        """Of a tensor to be summed, in the order in which this worker sends them.

        All send the same stripe at about the same time, so that it can come back early. Within a stripe each worker
        begins with another server, so that none has to listen to all at once, and ends with the one beside it.
        """
        first, count = self.rank + 1, len(self.servers)
        return sorted(self._stripes(numel, element_bytes, salt), key=lambda p: (p.stripe, (p.server - first) % count))

    def _stripes(self, numel: int, element_bytes: int, salt: int) -> Iterator[Piece]:
        """An even share to each server, stripe by stripe."""
        servers = self.adding
        if numel * element_bytes <= SMALL_BYTES:
            if numel:
                yield Piece(0, 0, servers[salt % len(servers)], 0, numel)
            return
        step, shares, part = PIECE_BYTES // element_bytes, chunks(numel, len(servers), 1), 0
        for stripe, at in enumerate(range(0, max(b - a for a, b in shares), step)):
            for server, (a, b) in zip(servers, shares, strict=True):
                if a + at < b:
                    yield Piece(part, stripe, server, a + at, min(b, a + at + step))
                    part += 1

    def shares(self, rank: int, length: int, salt: int) -> list[Piece]:
        """By which servers the message of a rank goes to all others."""
        servers = self.relaying
        if self.world == 1 or length == 0:
            return []
        if self.colocated:
            return [Piece(0, 0, rank, 0, length)]
        if length <= SMALL_BYTES:
            return [Piece(0, 0, servers[salt % len(servers)], 0, length)]
        cuts = zip(servers, chunks(length, len(servers), 1), strict=True)
        return [Piece(part, 0, server, a, b) for part, (server, (a, b)) in enumerate(cuts) if a < b]

    def keeper(self, bucket: int, chunk: int, count: int) -> int:
        """The server of one of `count` chunks of packed messages."""
        servers = self.relaying
        return servers[(bucket + chunk if count < len(servers) else chunk) % len(servers)]

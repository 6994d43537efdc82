"""What a replica reports about itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from laconic.stepping.eager import Eager
from laconic.stepping.on_servers import OnServers

if TYPE_CHECKING:
    from laconic.replica import Replica


@dataclass(frozen=True)
class Stats:
    steps: int  # optimizer steps taken
    exchanges: int  # times all buckets were exchanged
    wire_bytes: int  # sent by this rank since distribute()
    dense_bytes: int  # what an uncompressed all-reduce in every step would have sent
    exposed_wait_s: float | None  # time the training thread stood still for exchanges; None: not known
    skipped_steps: int  # steps dropped because a gradient was not finite
    tx_bytes: int | None = None  # what the kernel counted on this host's interface since then; None outside a lab
    reduced_by: str = ""  # how sums are made: native, ring, ... or what allreduce(auto) measured and chose
    staleness: int | None = None  # the most steps that the slowest rank was behind this one; None: does not apply
    dropped_updates: int = 0  # steps of this rank that came too late to count
    settling: bool = False  # is the order of messages still being measured and tried?

    @property
    def ratio(self) -> float:
        """How many times fewer bytes than dense; 1 where nothing was sent at all."""
        return self.dense_bytes / self.wire_bytes if self.wire_bytes else 1.0


def stats_of(replica: Replica) -> Stats:
    seen = replica.stepping if isinstance(replica.stepping, OnServers | Eager) else None
    pairs = None if replica.gossiping is None else replica.gossiping.pairs
    staleness = seen.staleness if seen else pairs.staleness if pairs and pairs.bound is not None else None
    return Stats(
        steps=replica.steps,
        exchanges=seen.pushed if seen else replica.turns,
        wire_bytes=replica.link.sent_bytes,
        dense_bytes=replica.dense_bytes,
        exposed_wait_s=replica.driver.waited_s,
        skipped_steps=replica.skipped,
        tx_bytes=replica.link.tx_bytes,
        reduced_by=replica.reduced_by,
        staleness=staleness,
        dropped_updates=seen.dropped if seen else 0,
        settling=replica.pilot is not None and replica.pilot.settling,
    )

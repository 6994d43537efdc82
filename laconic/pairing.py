"""Neighbours of asynchronous gossip find each other: who is asked listens, who asks calls.

Rank 0 makes a key for this replica and leaves it in the job's store, where those who listen leave their addresses
too. The store is as private as the job's own network is; what travels afterwards is encrypted (CURVE).
"""

from __future__ import annotations

import weakref
from dataclasses import replace
from datetime import timedelta

from torch._C._distributed_c10d import PrefixStore

from laconic.compress.solo import solo
from laconic.core.errors import PeerError
from laconic.core.rng import own
from laconic.drive.lanes import Lanes
from laconic.drive.pairs import Pairs, name_of
from laconic.drive.speech import Speech
from laconic.drive.torch_dist import TorchDist
from laconic.gossiping import Gossiping, barrier
from laconic.net.auth import Keys
from laconic.net.mailbox import Mailbox
from laconic.replica import Replica
from laconic.session import Session
from laconic.sync.shared import AbstractShared
from laconic.topology.mixing import ADChoco
from laconic.topology.mixing.adpsgd import sides

_CHANCE = 1 << 30  # names a stream that no bucket has


def pair_up(replica: Replica, driver: TorchDist | Lanes, session: Session) -> None:
    """Does nothing where neighbours mix in rounds."""
    gossiping, seat = replica.gossiping, replica.seat
    if gossiping is None or gossiping.topology.by.waits:
        return
    side = sides(gossiping.topology.graph.weights(seat.world, 0, seat.seed))[seat.rank]
    store = PrefixStore(f"pairs/{driver.group.group_name}", driver.roster.store)
    if seat.rank == 0:
        store.set("key", Keys.make().text())
    keys = Keys.from_text(_told(store, "key", session))
    box = Mailbox(name_of(seat.rank), keys=keys, host=None if side.asks else session.address)
    across: tuple[int, ...] = ()
    if side.asks:
        across = side.across
        box.meet({name_of(r): _told(store, f"address/{r}", session) for r in across}, session.timeout_s)
    models = [bucket.values() for bucket in replica.buckets]
    address = box.address
    chance = own(seat.seed, 0, _CHANCE, seat.rank)
    bound = replica.plan.sync.bound if isinstance(replica.plan.sync, AbstractShared) else None
    options = replica.link, session.timeout_s, _speech(gossiping, replica), bound
    gossiping.pairs = Pairs(models, box, across, chance, *options)
    weakref.finalize(replica, gossiping.pairs.close).atexit = False  # a replica that is let go meets nobody
    if not side.asks:
        store.set(f"address/{seat.rank}", address)  # whoever calls from here on is answered by the thread
    barrier(replica, "the first meeting")


def _speech(gossiping: Gossiping, replica: Replica) -> Speech:
    """Whole models, or compressed differences of those buckets that are compressed."""
    by = gossiping.topology.by
    if not isinstance(by, ADChoco):
        return Speech()
    ways = [solo(b.compress, b.spec, str(by)) for b in replica.buckets]
    damped = [
        replace(way, damping=b.compress.traits(b.spec).damping) for way, b in zip(ways, replica.buckets, strict=True)
    ]
    return Speech(replica.seat, damped, by.gamma)


def _told(store: PrefixStore, key: str, session: Session) -> str:
    try:
        store.wait([key], timedelta(seconds=session.timeout_s))
    except RuntimeError as error:
        raise PeerError(f"Rank {session.rank} waited {session.timeout_s:g} s for {key!r} in vain: {error}.") from error
    return str(store.get(key).decode())

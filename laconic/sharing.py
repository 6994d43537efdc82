"""Workers of a plan that does not wait find the model they share: on servers, or on each other's machines."""

from __future__ import annotations

import weakref

from torch._C._distributed_c10d import PrefixStore

from laconic.drive.lanes import Lanes
from laconic.drive.torch_dist import TorchDist
from laconic.replica import Replica
from laconic.server.join import join_table
from laconic.session import Session
from laconic.stepping.eager import Eager
from laconic.stepping.on_servers import OnServers
from laconic.sync.shared import AbstractShared
from laconic.topology import AllReduce, ParameterServer


def share(replica: Replica, base: TorchDist | Lanes | None, session: Session) -> None:
    """Does nothing where models are not shared. `base`: what all ranks met by."""
    sync, topology = replica.plan.sync, replica.plan.topology
    if not isinstance(sync, AbstractShared) or base is None:
        return  # or there is nobody to share it with
    if isinstance(topology, ParameterServer):
        table, close = join_table(session, topology, base.group.group_name, replica.link)
        forgotten = weakref.finalize(
            replica, close, "its replica was let go"
        )  # zmq waits for sockets that are only collected
        forgotten.atexit = False

        def end() -> None:
            if forgotten.detach() is not None:
                close(f"ended after step {replica.steps}")

        replica.stepping = OnServers(sync, table, replica, end)
    elif isinstance(topology, AllReduce):
        store = PrefixStore(f"laconic/eager/{base.group.group_name}", base.roster.store)
        replica.stepping = Eager(sync, replica, store, session.timeout_s)

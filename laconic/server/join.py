"""Workers find their servers: those that were started for them, or threads beside the first workers in rank order.

All meet through the job's store: rank 0 leaves the group's name (and, where the whole job lives on loopback, a key made
for it), who hosts a server leaves its address, and everyone signs in once connected; only then does anybody send.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store

from laconic.core.errors import LaconicError, PeerError, UsageError
from laconic.drive.apart import Apart
from laconic.drive.lanes import Lanes
from laconic.drive.mailbox import MailboxDriver
from laconic.drive.table import Table
from laconic.drive.torch_dist import TorchDist
from laconic.net.auth import Keys
from laconic.net.lines import is_loopback
from laconic.net.link import Link
from laconic.net.mailbox import Mailbox
from laconic.server.beside import Beside
from laconic.server.calls import plan_calls
from laconic.server.server import TABLE, Member, Server
from laconic.session import Session
from laconic.topology import ParameterServer

_POLL_S = 0.01


def join(session: Session, topology: ParameterServer, base: TorchDist | Lanes, link: Link) -> Apart:
    """To be called on all ranks; returns when all are connected to all servers."""
    store = dist.distributed_c10d._get_default_store()  # noqa: SLF001  (there is no public way)
    board = _Board(PrefixStore(f"laconic/ps/{base.group.group_name}", store), session)
    try:
        driver = _join(session, topology, base, link, board)
    except LaconicError as error:
        board.put("failed", f"Rank {session.rank} could not join the servers: {error}")
        raise
    board.put(f"met/{session.rank}", "here")
    board.wait_for([f"met/{rank}" for rank in range(session.world)])
    return Apart(driver)


def _join(
    session: Session, topology: ParameterServer, base: TorchDist | Lanes, link: Link, board: _Board
) -> MailboxDriver:
    count = topology.count(session.world)
    given = session.servers
    if given and topology.layout == "colocated":
        given = ()  # those were started for another plan of this job
    if given and len(given) != count:
        raise UsageError(
            f"{topology} wants {count} servers, but {len(given)} were started ({', '.join(given)}). Say "
            f"ps(servers={len(given)}) or start as many."
        )
    keys = _keys(session, board, shared=not given)
    if session.rank == 0:
        board.put("group", secrets.token_hex(8))
    me = Member(board.get("group"), session.rank)
    hosted: dict[int, Beside] = {}
    if not given:
        for s in range(session.rank, count, session.world):
            hosted[s] = Beside(Server(session.address, 0, keys, insecure=session.insecure, beside=me))
            board.put(f"server/{s}", hosted[s].address)
    addresses = given or tuple(board.get(f"server/{s}") for s in range(count))
    calls, wiring = plan_calls(topology, me, session.world, addresses, frozenset(hosted))
    box = Mailbox(f"Rank {session.rank}", keys=keys, insecure=session.insecure)
    driver = MailboxDriver(
        box,
        wiring,
        link,
        base.roster,
        session.timeout_s,
        beside=[h.link for h in hosted.values()],
        closing=[*(h.close for h in hosted.values()), base.close],
    )
    try:
        for call in calls:
            box.meet({call.name: call.address}, session.timeout_s, call.words, call.as_name)
    except LaconicError:
        driver.close()
        raise
    return driver


def join_table(
    session: Session, topology: ParameterServer, group_name: str, link: Link
) -> tuple[Table, Callable[[str], None]]:
    """A second line to the servers that `join` has found, for values pushed and pulled without a barrier; and how to
    end it. To be called on all ranks."""
    store = dist.distributed_c10d._get_default_store()  # noqa: SLF001  (there is no public way)
    board = _Board(PrefixStore(f"laconic/ps/{group_name}", store), session)
    given = () if topology.layout == "colocated" else session.servers
    made = session.keys is None and not session.insecure and not given and is_loopback(session.address)
    keys = Keys.from_text(board.get("key")) if made else session.keys
    count = topology.count(session.world)
    addresses = given or tuple(board.get(f"server/{s}") for s in range(count))
    beside = frozenset() if given else frozenset(range(session.rank, count, session.world))
    me = Member(f"{board.get('group')}{TABLE}", session.rank)
    box = Mailbox(f"Rank {session.rank}", keys=keys, insecure=session.insecure)
    calls, _ = plan_calls(topology, me, session.world, addresses)
    for call in calls:
        box.meet({call.name: call.address}, session.timeout_s, call.words, call.as_name)
    board.put(f"table/{session.rank}", "here")
    board.wait_for([f"table/{rank}" for rank in range(session.world)])
    return Table(box, [call.name for call in calls], link, session.timeout_s, beside=beside), box.close


def _keys(session: Session, board: _Board, *, shared: bool) -> Keys | None:
    """The job's own; on loopback one is made. Over a network a store in plain text is no place for it."""
    if session.keys is not None or session.insecure or not (shared and is_loopback(session.address)):
        return session.keys
    if session.rank == 0:
        board.put("key", Keys.make().text())
    return Keys.from_text(board.get("key"))


class _Board:
    """Where the ranks of a job leave word for each other."""

    def __init__(self, store: Store, session: Session) -> None:
        self._store, self._session = store, session

    def put(self, key: str, text: str) -> None:
        try:
            self._store.set(key, text)
        except RuntimeError as error:
            raise PeerError(f"The job's store is gone, and its rank 0 with it ({error}).") from error

    def get(self, key: str) -> str:
        self.wait_for([key])
        return self._store.get(key).decode()

    def wait_for(self, keys: list[str]) -> None:
        end = time.monotonic() + self._session.timeout_s
        while missing := [key for key in keys if not self._check(key)]:
            if self._check("failed"):
                raise PeerError(self._store.get("failed").decode())
            if time.monotonic() > end:
                raise PeerError(
                    f"Rank {self._session.rank} waited {self._session.timeout_s:g} s for the others to join the "
                    f"servers; missing: {', '.join(missing)}."
                )
            time.sleep(_POLL_S)

    def _check(self, key: str) -> bool:
        try:
            return bool(self._store.check([key]))
        except RuntimeError as error:
            raise PeerError(f"The job's store is gone, and its rank 0 with it ({error}).") from error

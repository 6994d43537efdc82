"""Servers and workers as threads of one process over real sockets: everything but the forks, in milliseconds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from laconic.drive.base import Place
from laconic.drive.mailbox import MailboxDriver
from laconic.net.auth import Keys
from laconic.net.link import Link
from laconic.net.mailbox import Mailbox
from laconic.server.beside import Beside
from laconic.server.calls import Call, plan_calls
from laconic.server.server import Member, Server
from laconic.topology import ParameterServer

HOST = "127.0.0.1"
TIMEOUT_S = 60.0  # kernels are compiled when first called, on a busy machine for many seconds


class Quiet:
    """Stands in for the roster of a job that has no store."""

    def trouble(self) -> bool:
        return False

    def explain(self, place: Place, cause: str) -> str:
        return f"lost a peer at {place}: {cause}"


def mailbox(rank: int, world: int, addresses: list[str], keys: Keys | None = None) -> Mailbox:
    me = Member("group", rank)
    box = Mailbox(me.name, keys=keys)
    call_all(box, plan_calls(ParameterServer(servers=len(addresses)), me, world, addresses)[0])
    return box


def call_all(box: Mailbox, calls: list[Call]) -> None:
    for call in calls:
        box.meet({call.name: call.address}, TIMEOUT_S, call.words, call.as_name)


def on_cluster(
    world: int,
    topology: ParameterServer,
    function: Callable[[MailboxDriver, int], Any],
    *,
    keys: Keys | None = None,
) -> list[Any]:
    """What `function(driver, rank)` returned on every rank."""
    colocated = topology.layout == "colocated"
    members = [Member("group", s) if colocated else None for s in range(topology.count(world))]
    hosted = [Beside(Server(HOST, 0, keys, beside=member)) for member in members]
    addresses = [h.address for h in hosted]
    all_met = threading.Barrier(world)

    def work(rank: int) -> Any:
        me = Member("group", rank)
        calls, wiring = plan_calls(topology, me, world, addresses, frozenset({rank} if colocated else ()))
        box = Mailbox(me.name, keys=keys)
        call_all(box, calls)
        links = [hosted[rank].link] if colocated else []
        driver = MailboxDriver(box, wiring, Link(), Quiet(), TIMEOUT_S, beside=links)  # type: ignore[arg-type]
        all_met.wait(TIMEOUT_S)
        try:
            return function(driver, rank)
        finally:
            driver.close()

    with ThreadPoolExecutor(world) as pool:
        futures = [pool.submit(work, rank) for rank in range(world)]
    for one in hosted:
        one.close()
    return [f.result() for f in futures]

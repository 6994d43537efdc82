"""Sockets as every mailbox opens them, and what the kernel says about their connections.

Deaths are noticed by TCP itself: a process that ends closes its connections at once; a host that vanishes leaves
keep-alive probes (one a second) or sent data without an answer, and the kernel gives the connection up after
`patience_s`. That needs no thread of ours, is not delayed by a large message or a long computation, and does not take a
slow or stopped process for a dead one.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from socket import SOCK_DGRAM, getaddrinfo
from socket import socket as udp_socket
from typing import NamedTuple

import zmq
from zmq.utils.monitor import recv_monitor_message

from laconic.net.auth import Keys

Socket = zmq.Socket[bytes]
Context = zmq.Context[Socket]
DOMAIN = b"laconic"
_FAILED = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_AUTH
_WATCHED = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | _FAILED
_LINGER_MS = 500  # for a last word to leave


class Happened(NamedTuple):
    """Something about a connection; `fd` names it on a listening socket."""

    ready: bool
    ended: bool
    failed: bool
    fd: int


def open_socket(context: Context, kind: int, keys: Keys | None, most_bytes: int, patience_s: float) -> Socket:
    """Nothing is dropped at a high-water mark: who sends keeps count of what is unanswered."""
    socket = context.socket(kind)
    socket.linger = _LINGER_MS
    socket.set_hwm(0)
    socket.maxmsgsize = most_bytes
    socket.tcp_keepalive = 1
    socket.tcp_keepalive_idle = socket.tcp_keepalive_intvl = 1
    socket.tcp_keepalive_cnt = max(1, round(patience_s) - 1)
    socket.tcp_maxrt = int(1000 * patience_s)
    if keys is not None:
        socket.curve_publickey, socket.curve_secretkey = keys.public.encode(), keys.secret.encode()
    return socket


def listen(socket: Socket, keys: Keys | None, host: str, port: int) -> str:
    """Bind; the address others connect to."""
    socket.router_mandatory = 1
    if keys is not None:
        socket.curve_server = 1
        socket.zap_domain = DOMAIN
    where = f"[{host}]" if ":" in host else host
    socket.ipv6 = ":" in host
    socket.bind(f"tcp://{where}:{port or '*'}")
    return socket.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0")


def call(socket: Socket, keys: Keys | None, address: str) -> None:
    if keys is not None:
        socket.curve_serverkey = keys.public.encode()
    socket.ipv6 = "[" in address
    socket.reconnect_ivl, socket.reconnect_ivl_max = 50, 1000  # milliseconds
    socket.connect(address)


def watch(socket: Socket) -> Socket:
    monitor: Socket = socket.get_monitor_socket(_WATCHED)
    return monitor


def hang_up(socket: Socket, monitor: Socket | None) -> None:
    """What was sent still leaves."""
    socket.disable_monitor()
    if monitor is not None:
        monitor.close(0)
    socket.close()


def happenings(monitor: Socket) -> Iterator[Happened]:
    while monitor.poll(0):
        said = recv_monitor_message(monitor)
        event = int(said["event"])
        yield Happened(
            ready=bool(event & zmq.EVENT_HANDSHAKE_SUCCEEDED),
            ended=bool(event & zmq.EVENT_DISCONNECTED),
            failed=bool(event & _FAILED),
            fd=int(said["value"]),
        )


def is_loopback(host: str) -> bool:
    """A name other than localhost may be anywhere."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def own_address(towards: str) -> str:
    """The address of this machine that another can reach; loopback for loopback. Nothing is sent."""
    if is_loopback(towards):
        return "127.0.0.1"
    try:
        family, _, _, _, where = getaddrinfo(towards, 9, type=SOCK_DGRAM)[0]
        with udp_socket(family, SOCK_DGRAM) as probe:
            probe.connect(where)
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1"


def host_of(address: str) -> str:
    """`tcp://10.0.0.1:4711` -> `10.0.0.1`."""
    return address.removeprefix("tcp://").rpartition(":")[0]

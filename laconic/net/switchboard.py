"""The sockets of one mailbox: one that listens, one for each peer it called. Bytes in and out, beginnings and ends.

What the bytes mean, who is who and what is refused is for the mailbox to say (net/mailbox.py).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import zmq

from laconic.core.errors import UsageError
from laconic.net import lines
from laconic.net.auth import Keys
from laconic.net.bell import Bell
from laconic.net.door import Door
from laconic.net.peer import Peer

_LAST_PORT = 65535


class End(NamedTuple):
    """Of a caller's connection."""

    failed: bool  # while keys were exchanged
    whose: Peer | None  # None: it had not said who it is


class Switchboard:
    def __init__(self, keys: Keys | None, most_bytes: int, patience_s: float) -> None:
        self.address = ""
        self.calls: list[Peer] = []  # whom I called
        self.callers: dict[bytes, Peer] = {}  # who called me and was let in
        self._left: set[int] = set()  # connections of callers that took leave, until they end
        self._options = keys, most_bytes, patience_s
        self._context = lines.Context()
        self._poller = zmq.Poller()
        self._bell: Bell | None = None
        self.door: Door | None = None
        self.router: lines.Socket | None = None
        self._monitor: lines.Socket | None = None

    def listen(self, host: str, port: int) -> None:
        if not 0 <= port <= _LAST_PORT:  # ZeroMQ would take another one without a word
            raise UsageError(f"Cannot listen on port {port}: give one up to {_LAST_PORT}, or 0 for a free one.")
        keys = self._options[0]
        if keys is not None:
            self.door = Door(self._context, keys)
        self.router = self._open(zmq.ROUTER)
        self._monitor = lines.watch(self.router)
        self._poller.register(self._monitor, zmq.POLLIN)
        try:
            self.address = lines.listen(self.router, keys, host, port)
        except zmq.ZMQError as error:
            raise UsageError(f"Cannot listen on {host}, port {port or 'any'}: {error}.") from error

    def call(self, name: str, address: str, hello: bytes) -> Peer:
        """It answers later, if at all."""
        peer = Peer(self._open(zmq.DEALER), name, mine=secrets.randbits(63) | 1, hello=hello)
        peer.monitor = lines.watch(peer.socket)
        self._poller.register(peer.monitor, zmq.POLLIN)
        self.calls.append(peer)
        try:
            lines.call(peer.socket, self._options[0], address)
        except zmq.ZMQError as error:
            raise UsageError(f"{address!r} is no address of {name}: {error}. Write tcp://HOST:PORT.") from error
        return peer

    def _open(self, kind: int) -> lines.Socket:
        socket = lines.open_socket(self._context, kind, *self._options)
        self._poller.register(socket, zmq.POLLIN)
        return socket

    # ------------------------------------------------------------- in and out

    def post(self, peer: Peer, header: bytes, payload: memoryview) -> bool:
        """False: its connection has ended. What it said before, perhaps goodbye, is still to be read."""
        parts: list[Any] = [header, payload] if peer.route is None else [peer.route, header, payload]
        try:
            peer.socket.send_multipart(parts, copy=False)
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
            return False
        return True

    def wait(self, timeout_s: float) -> bool:
        """For anything to happen; False if nothing did."""
        return bool(self._poller.poll(int(1000 * timeout_s)))

    def arrivals(self) -> Iterator[tuple[Peer, list[zmq.Frame]]]:
        """All there is to read, from whom I called first; a caller nobody knows is a new peer without a name."""
        for peer in list(self.calls):
            while not peer.socket.closed and (parts := _next(peer.socket)) is not None:
                yield peer, parts  # after a BYE the reader hangs up
        while self.router is not None and (parts := _next(self.router)) is not None:
            route = parts.pop(0).bytes
            yield self.callers.get(route) or Peer(self.router, route=route), parts

    def bell(self) -> Callable[[], None]:
        """For other threads: ends a `wait`."""
        self._bell = self._bell or Bell()
        self._poller.register(self._bell.ear, zmq.POLLIN)
        return self._bell.ring

    def rang(self) -> bool:
        return self._bell is not None and self._bell.rang()

    # ------------------------------------------------------------- ends

    def ends(self) -> Iterator[End]:
        """Of callers' connections, but for those who took leave."""
        for event in lines.happenings(self._monitor) if self._monitor is not None else ():
            if event.failed:
                yield End(failed=True, whose=None)
            if event.ended and event.fd in self._left:
                self._left.discard(event.fd)
            elif event.ended:  # of two with one number the older: the kernel uses a number again
                yield End(failed=False, whose=next((p for p in self.callers.values() if p.fd == event.fd), None))

    def forget(self, peer: Peer) -> None:
        """It took leave, or I do; its line is not needed any more."""
        if peer.route is not None:
            if self.callers.pop(peer.route, None) is not None:
                self._left.add(peer.fd)
        elif any(peer is one for one in self.calls):
            self.calls = [one for one in self.calls if one is not peer]
            self._hang_up(peer)

    def forget_end(self, peer: Peer) -> None:
        """Its end was seen: the next on a connection with its number is somebody else."""
        self._left.discard(peer.fd)

    def _hang_up(self, peer: Peer) -> None:
        for socket in (peer.socket, peer.monitor):
            if socket is not None:
                self._poller.unregister(socket)
        lines.hang_up(peer.socket, peer.monitor)

    def close(self) -> None:
        """What was sent still leaves."""
        for peer in self.calls:
            self._hang_up(peer)
        self.calls, self.callers = [], {}
        if self.router is not None:
            lines.hang_up(self.router, self._monitor)
            self.router = self._monitor = None
        if self.door is not None:
            self.door.close()
            self.door = None
        if self._bell is not None:
            self._bell.close()
        self._context.term()


def _next(socket: lines.Socket) -> list[zmq.Frame] | None:
    try:
        parts: list[zmq.Frame] = socket.recv_multipart(zmq.NOBLOCK, copy=False)
    except zmq.Again:
        return None
    return parts

"""Measure a lab: does a single message travel at the rate that was asked for?

    throughput = 8 (m + 66 ceil(m / 1448)) / (t - latency)

for m bytes sent at once over a warm TCP connection, where t runs from the call that sends to the moment the last
byte is read (both ends share this machine's clock), and latency is the shortest t of a single byte. A full packet
carries 1448 bytes under 66 of Ethernet, IP and TCP headers; the token buckets count those too, so we do. Every link
is measured in both directions: host 0 to 1, 1 to 2, and so on around.
"""

from __future__ import annotations

import contextlib
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from laconic.lab.build import Lab
from laconic.lab.receiver import GO, HEADER, MOMENT
from laconic.launch.job import Site
from laconic.launch.linux import in_network

RECEIVER = Path(__file__).with_name("receiver.py")
SIZES = (64 * 1024, 256 * 1024, 1024 * 1024, 16 * 1024 * 1024)
TOLERANCE = 0.1
PAYLOAD, HEADERS = 1448, 66
PINGS = 50
BUDGET_S, FEWEST, MOST = 2.0, 3, 101  # messages of one size: as many as fit the budget
LONGEST_S = 20.0  # a message that would take longer is not sent
PAUSE_S = 0.005  # between messages, so that each finds the buckets full and the queues empty
UNSHAPED = 10**10


@dataclass(frozen=True)
class Throughput:
    """Of messages of one size on one path."""

    size: int
    seconds: tuple[float, ...]  # without latency
    asked: int | None  # bits per second

    @property
    def median(self) -> float:
        return 8 * wire_bytes(self.size) / statistics.median(self.seconds)

    @property
    def slowest(self) -> float:
        return 8 * wire_bytes(self.size) / max(self.seconds)

    @property
    def ok(self) -> bool:
        return self.asked is None or abs(self.median / self.asked - 1) <= TOLERANCE


@dataclass(frozen=True)
class Route:
    """One measured direction: from a host up to the switch and down to another."""

    source: int
    target: int
    latency_s: float  # median of single bytes
    throughputs: tuple[Throughput, ...]
    too_long: tuple[int, ...]  # sizes that were not sent

    @property
    def ok(self) -> bool:
        return all(each.ok for each in self.throughputs)


def measure(lab: Lab) -> Iterator[Route]:
    """Around the hosts, one route after the other, so that none disturbs another."""
    hosts, places = lab.spec.hosts, lab.sites()
    for source in range(hosts):
        target = (source + 1) % hosts
        with _connection(places[source], places[target]) as sender:
            yield _route(sender, source, target, lab.spec.path_rate(source, target))


def wire_bytes(size: int) -> int:
    """On an Ethernet of 1500 bytes, for one message on its own."""
    return size + HEADERS * -(-size // PAYLOAD)


def _route(sender: socket.socket, source: int, target: int, asked: int | None) -> Route:
    pings = [_send(sender, b"?") for _ in range(PINGS)]
    throughputs, too_long = [], []
    for size in SIZES:
        expected_s = 8 * wire_bytes(size) / (asked or UNSHAPED)
        if expected_s > LONGEST_S:
            too_long.append(size)
            continue
        count = min(max(FEWEST, round(BUDGET_S / expected_s)), MOST)
        message = os.urandom(size)
        seconds = tuple(_send(sender, message) - min(pings) for _ in range(count))
        throughputs.append(Throughput(size, seconds, asked))
    return Route(source, target, statistics.median(pings), tuple(throughputs), tuple(too_long))


def _send(sender: socket.socket, message: bytes) -> float:
    """Seconds from sending until the other side has the last byte."""
    sender.sendall(HEADER.pack(len(message)))
    assert sender.recv(1) == GO
    time.sleep(PAUSE_S)
    start = time.monotonic()
    sender.sendall(message)
    (end,) = MOMENT.unpack(sender.recv(MOMENT.size, socket.MSG_WAITALL))
    return float(end - start)


@contextlib.contextmanager
def _connection(source: Site, target: Site) -> Iterator[socket.socket]:
    """A connected socket of `source`; its peer is held by a receiver in a process of its own."""
    assert source.netns is not None
    assert target.netns is not None
    with contextlib.ExitStack() as stack:
        with in_network(target.netns):
            server = stack.enter_context(socket.create_server((target.address, 0)))
        with in_network(source.netns):
            ours = stack.enter_context(socket.create_connection(server.getsockname()))
        theirs = stack.enter_context(server.accept()[0])
        for end in (ours, theirs):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        command = [sys.executable, "-I", str(RECEIVER), str(theirs.fileno())]
        receiver = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()
        try:
            yield ours
        finally:
            ours.close()
            receiver.wait()

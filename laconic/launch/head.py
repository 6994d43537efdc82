"""The parent of one job's ranks: starts them, reports how each ends, slows stragglers, leaves nothing behind.

It talks with the launcher over one stream. In: the order, then TERM or KILL; the end of the stream means KILL. Out:
one line of JSON for each rank that started (`{"rank", "pid"}`) or ended (`{"rank", "status"}`); the stream ends
when all have.

A straggler with share s runs during the first s of every period and is stopped (SIGSTOP) for the rest of it, with
all it started. The program needs no sleep and no knowledge of it; the kernel goes on receiving for it meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time
from dataclasses import dataclass, field

from laconic.launch.order import read_order
from laconic.launch.rank import Rank

TERM, KILL = b"T", b"K"
PERIOD_S = 0.02
CHUNK = 1 << 16


@dataclass
class _Child:
    rank: int
    pid: int
    share: float
    stopped: bool = False


@dataclass
class _Ranks:
    """Those that still live, by process id."""

    children: dict[int, _Child] = field(default_factory=dict)
    leaving: bool = False  # TERM was sent: nobody is held up any more

    def signal(self, number: signal.Signals) -> None:
        for child in self.children.values():
            _signal(child.pid, number)

    def turn(self, now: float) -> float | None:
        """Stop and continue stragglers as the time of the period demands; seconds until the next change."""
        phase = now % PERIOD_S / PERIOD_S
        waits = []
        for child in self.children.values():
            if child.share >= 1 or self.leaving:
                continue
            should_stop = phase >= child.share
            if should_stop != child.stopped:
                child.stopped = should_stop
                _signal(child.pid, signal.SIGSTOP if should_stop else signal.SIGCONT)
            waits.append(((1.0 if should_stop else child.share) - phase) * PERIOD_S)
        return min(waits, default=None)


def lead(stream: socket.socket, outputs: tuple[int, int]) -> Rank | None:
    """Returns only in a rank, with what it has to do; in the head itself it ends the process."""
    line = _read_line(stream)
    if line is None:
        os._exit(0)
    order = read_order(line)
    ranks, head = _Ranks(), os.getpid()
    for number, seat in enumerate(order.seats):
        pid = os.fork()
        if pid == 0:
            stream.close()
            return Rank(order, seat, head, outputs)
        ranks.children[pid] = _Child(number, pid, seat.share)
        _tell(stream, rank=number, pid=pid)
    for handle in outputs:
        os.close(handle)
    try:
        _watch(stream, ranks)
    finally:
        ranks.signal(signal.SIGKILL)
        os._exit(0)


def _watch(stream: socket.socket, ranks: _Ranks) -> None:
    bell, rung = socket.socketpair()  # a SIGCHLD writes a byte into it, which ends the wait below
    for end in (bell, rung):
        end.setblocking(False)
    signal.set_wakeup_fd(bell.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _reap(stream, ranks)  # who ended before the bell hung
    while ranks.children:
        ready, _, _ = select.select([stream, rung], [], [], ranks.turn(time.monotonic()))
        if rung in ready:
            rung.recv(4096)
            _reap(stream, ranks)
        if stream in ready:
            _obey(_received(stream), ranks)


def _obey(word: bytes, ranks: _Ranks) -> None:
    if KILL in word or not word:
        ranks.signal(signal.SIGKILL)
        while ranks.children:
            _reap(None, ranks, wait=True)
    elif TERM in word:
        ranks.leaving = True
        ranks.signal(signal.SIGTERM)
        ranks.signal(signal.SIGCONT)  # a stopped process would not notice


def _reap(stream: socket.socket | None, ranks: _Ranks, *, wait: bool = False) -> None:
    """Collect who ended. The group is killed before its number is free again: a rank leaves no children behind."""
    while ranks.children:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT | (0 if wait else os.WNOHANG))
        except ChildProcessError:
            return
        if ended is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(ended.si_pid, signal.SIGKILL)
        _, status = os.waitpid(ended.si_pid, 0)
        child = ranks.children.pop(ended.si_pid, None)
        if child is not None and stream is not None:
            _tell(stream, rank=child.rank, status=os.waitstatus_to_exitcode(status))


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:  # it has not made its group yet
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _tell(stream: socket.socket, **fields: int) -> None:
    with contextlib.suppress(OSError):  # the launcher is gone: the next read says so
        stream.sendall(json.dumps(fields).encode() + b"\n")


def _received(stream: socket.socket) -> bytes:
    try:
        return stream.recv(64)
    except OSError:
        return b""


def _read_line(stream: socket.socket) -> bytes | None:
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = stream.recv(CHUNK)
        if not piece:
            return None
        line += piece
    return bytes(line)

"""One job: a script on every rank of some sites, from start to the last exit code.

    with Job(Script("train.py", is_module=False, args=()), local_sites(4)) as job:
        while (code := job.wait(0.5)) is None: ...

A site is a host: this machine, or a network namespace of a lab. The first rank that fails decides the exit code
(128 + the signal's number when a signal ended it). The others normally notice and end with a sentence of their own,
for which they get a grace period. Leaving the `with` stops what still runs, and so does the end of this process,
also by SIGKILL.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from laconic.core.errors import LaconicError, UsageError
from laconic.launch import port
from laconic.launch.head import KILL, TERM
from laconic.launch.linux import require_linux
from laconic.launch.order import Order, Script, Seat
from laconic.launch.zygote import zygote_for

__all__ = ["Job", "Script", "Site", "local_sites"]

GRACE_S = 5.0  # for the others after one rank failed
TERM_S = 5.0  # from SIGTERM to SIGKILL
PRELOAD = {"laconic.tasks.digits": ("sklearn.datasets",)}  # what a rank would import for seconds


@dataclass(frozen=True)
class Site:
    """Where ranks run: one host."""

    address: str
    interface: str | None = None  # "eth0" in a lab
    netns: str | None = None  # path of the network namespace; None: the launcher's own
    share: float = 1.0  # of the time its processes may run
    cores: tuple[int, ...] = ()  # those its processes run on; none: wherever there is room

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise UsageError(f"A share of {self.share:g} for {self.address}: it must be above 0 and at most 1.")


@dataclass(frozen=True)
class Failure:
    rank: int
    pid: int
    status: int  # exit code, or minus the signal's number

    @property
    def code(self) -> int:
        return self.status if self.status > 0 else 128 - self.status

    def __str__(self) -> str:
        how = f"ended with exit code {self.status}"
        if self.status < 0:
            how = f"was killed by {signal.Signals(-self.status).name}"
        return f"rank {self.rank} (pid {self.pid}) {how}"


def local_sites(count: int) -> list[Site]:
    return [Site("127.0.0.1") for _ in range(count)]


class Job:
    """Starts at once. `output=None`: ranks write where this process writes; else all append to that file."""

    def __init__(
        self,
        script: Script,
        sites: Sequence[Site],
        *,
        per_site: int = 1,
        env: Mapping[str, str] | None = None,
        output: Path | None = None,
    ) -> None:
        require_linux("starting ranks by fork")
        if not sites or per_site < 1:
            raise UsageError(f"A job on {len(sites)} sites with {per_site} ranks each has nobody to run it.")
        self.failures: list[Failure] = []  # in the order of their ends, without those this Job ended
        self._pids: dict[int, int] = {}
        self._live = len(sites) * per_site
        self._unread = b""
        self._stopping = False
        self._grace_end = math.inf
        base = {"OMP_NUM_THREADS": "1", **os.environ, **(env or {})}
        self._port = port.reserve()
        try:
            seats = _seats(sites, per_site, self._port.getsockname()[1])
            with _outputs(output) as handles:
                self._stream = zygote_for(base).head(handles, PRELOAD.get(script.target, ()))
            self._say(Order(script, str(Path.cwd()), base, seats).line())
        except BaseException:
            self._port.close()
            raise

    def wait(self, timeout_s: float) -> int | None:
        """None: still running after `timeout_s`; else 0 or the first failing rank's exit code."""
        end = time.monotonic() + timeout_s
        while self._live:
            now = time.monotonic()
            if now >= self._grace_end and not self._stopping:
                self.stop()
            elif self._receive(min(end, self._grace_end) - now):
                continue
            elif time.monotonic() >= end:
                return None
        return self.failures[0].code if self.failures else 0

    def stop(self) -> None:
        """SIGTERM to every rank that runs, and SIGKILL to those that still do after 5 s."""
        for word, patience_s in ((TERM, TERM_S), (KILL, math.inf)):
            if not self._live:
                return
            self._stopping = True
            self._say(word)
            end = time.monotonic() + patience_s
            while self._live and self._receive(end - time.monotonic()):
                pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        finally:
            self._stream.close()
            self._port.close()

    def _receive(self, timeout_s: float) -> bool:
        """Read what the head reports; False when it had nothing to say in time."""
        limit = None if math.isinf(timeout_s) else max(0.0, timeout_s)
        if not select.select([self._stream], [], [], limit)[0]:
            return False
        piece = _received(self._stream)
        *lines, self._unread = (self._unread + piece).split(b"\n")
        for line in lines:
            self._note(**json.loads(line))
        if not piece and self._live:
            self._lost()
        return True

    def _note(self, rank: int, pid: int | None = None, status: int | None = None) -> None:
        if pid is not None:
            self._pids[rank] = pid
        if status is None:
            return
        self._live -= 1
        if status != 0 and not (self._stopping and self.failures):
            self.failures.append(Failure(rank, self._pids[rank], status))
            self._grace_end = min(self._grace_end, time.monotonic() + GRACE_S)

    def _lost(self) -> None:
        """The head reports every end before its own, except after KILL."""
        lost, self._live = self._live, 0
        if not self._stopping:
            raise LaconicError(f"the process that started the ranks was killed; {lost} ranks ended with it.")
        if not self.failures:
            self.failures.append(Failure(0, self._pids.get(0, 0), -signal.SIGKILL))

    def _say(self, word: bytes) -> None:
        with contextlib.suppress(OSError):  # a head that is gone shows as the stream's end
            self._stream.sendall(word)


def _seats(sites: Sequence[Site], per_site: int, port: int) -> tuple[Seat, ...]:
    """Rank by rank, site after site. Sites of one network namespace are one machine: each rank there has its card."""
    seats = []
    here: Counter[str | None] = Counter()
    together = Counter(site.netns for site in sites)
    for number, site in enumerate(sites):
        for local in range(per_site):
            env = {
                "RANK": str(number * per_site + local),
                "WORLD_SIZE": str(len(sites) * per_site),
                "LOCAL_RANK": str(here[site.netns]),
                "LOCAL_WORLD_SIZE": str(per_site * together[site.netns]),
                "MASTER_ADDR": sites[0].address,
                "MASTER_PORT": str(port),
            }
            if site.interface is not None:
                env |= {"GLOO_SOCKET_IFNAME": site.interface, "LACONIC_INTERFACE": site.interface}
            seats.append(Seat(env, site.netns, site.share, site.cores))
            here[site.netns] += 1
    return tuple(seats)


@contextlib.contextmanager
def _outputs(path: Path | None) -> Iterator[tuple[int, int]]:
    """Handles for the ranks' stdout and stderr."""
    sys.stdout.flush()
    sys.stderr.flush()
    if path is None:
        yield 1, 2
        return
    with path.open("ab") as file:
        yield file.fileno(), file.fileno()


def _received(stream: socket.socket) -> bytes:
    try:
        return stream.recv(1 << 16)
    except ConnectionResetError:
        return b""

"""Joining the job: torchrun's environment in, rank and world out.

Besides `cli/` this is the only file that reads the environment:
    RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT   set by torchrun
    LACONIC_PLAN, LACONIC_TIMEOUT, LACONIC_DEBUG             set by `laconic run` or by hand
    LACONIC_SERVERS, LACONIC_KEY, LACONIC_KEY_FILE,          where parameter servers listen, the job's key, or that
    LACONIC_INSECURE, LACONIC_HOST                           none is wanted; where to listen (docs/servers.md)
    LACONIC_INTERFACE                                        set in a lab: whose transmit counter to read
    LACONIC_TRACE                                            set by `laconic run --trace`: the trace to be written
    LACONIC_JOURNAL, LACONIC_STEPS                           set by `laconic compare`: a folder for rank{r}.json, and
                                                             after how many steps to end a script
    LACONIC_PROFILE                                          set by `laconic profile`: a folder for rank{r}.json
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import Store
from torch.distributed.rendezvous import rendezvous

from laconic import journal
from laconic.core.errors import PeerError, UsageError
from laconic.core.exchange import Router, Seat
from laconic.drive.alone import Alone
from laconic.drive.base import Place
from laconic.drive.lanes import Lanes, lanes
from laconic.drive.roster import Roster
from laconic.drive.torch_dist import TorchDist
from laconic.net.auth import Keys, read_keys
from laconic.net.lines import own_address
from laconic.net.link import Link
from laconic.planner import profiler

DEFAULT_TIMEOUT_S = 300.0
LONGEST_TIMEOUT_S = 1e6


@dataclass(frozen=True)
class Session:
    rank: int
    world: int
    local_rank: int
    plan: str | None
    timeout_s: float
    debug: bool
    interface: str | None = None  # of this host's link, in a lab
    servers: tuple[str, ...] = ()  # addresses of parameter servers that were started for this job
    keys: Keys | None = None
    insecure: bool = False
    host: str | None = None  # where a server beside this rank shall listen
    master: str = "127.0.0.1"
    trace: Path | None = None

    @property
    def address(self) -> str:
        """Where a server beside this rank listens: on loopback if the whole job is on this machine."""
        return self.host or own_address(self.master)

    def _new_group(self) -> dist.ProcessGroup:
        """Connections of one's own, so that several replicas cannot mix up their collectives."""
        try:
            group: dist.ProcessGroup = dist.new_group(timeout=timedelta(seconds=self.timeout_s))
        except RuntimeError as error:
            place = Place(0, 0, "laconic.distribute")
            raise PeerError(self._roster().explain(place, _first_line(error))) from error
        return group

    def driver(self, link: Link, *, one_round: bool = False) -> TorchDist | Lanes | Alone:
        """`one_round`: no exchange has anything to do when an answer arrives, so no lane need look."""
        if not dist.is_initialized():
            return Alone(link)

        def desk() -> TorchDist:
            return TorchDist(self._new_group(), link, self._roster(), debug=self.debug)

        return desk() if one_round else lanes(desk)

    def note(self, text: str) -> None:
        """Leave word for ranks that will wait for this one in vain."""
        if dist.is_initialized():
            self._roster().note(text)

    def _roster(self) -> Roster:
        store = dist.distributed_c10d._get_default_store()  # noqa: SLF001  (there is no public way)
        return Roster(store, self.rank, self.world)

    def seat(self, router: Router, seed: int) -> Seat:
        return Seat(self.rank, self.world, router, seed, checksum=self.debug)


def init(timeout_s: float | None = None, *, backend: str | None = None) -> Session:
    """Join the job torchrun started, or stand alone. Calling it again changes nothing.

    `timeout_s`: how long any rank waits for another before it gives up with an error that names who is missing
    (default: LACONIC_TIMEOUT, else 300). A process group made by the user is used as it is, with its own timeout.
    """
    env = os.environ
    limit = timeout_s
    if limit is None:
        limit = _group_timeout_s() or _number(env, "LACONIC_TIMEOUT", DEFAULT_TIMEOUT_S)
    if not 0 < limit <= LONGEST_TIMEOUT_S:
        raise UsageError(f"A timeout of {limit} s: it must be above 0 and at most {LONGEST_TIMEOUT_S:g}.")
    if not dist.is_initialized() and "RANK" in env and "WORLD_SIZE" in env:
        _join(limit, backend)
    joined = dist.is_initialized()
    session = Session(
        rank=dist.get_rank() if joined else 0,
        world=dist.get_world_size() if joined else 1,
        local_rank=int(env.get("LOCAL_RANK", "0")),
        plan=env.get("LACONIC_PLAN") or None,
        timeout_s=limit,
        debug=env.get("LACONIC_DEBUG", "") not in ("", "0"),
        interface=env.get("LACONIC_INTERFACE") or None,
        servers=tuple(filter(None, env.get("LACONIC_SERVERS", "").replace(",", " ").split())),
        keys=_keys(env),
        insecure=env.get("LACONIC_INSECURE", "") not in ("", "0"),
        host=env.get("LACONIC_HOST") or None,
        master="127.0.0.1" if _is_local(env) else env.get("MASTER_ADDR", "127.0.0.1"),
        trace=Path(env["LACONIC_TRACE"]) if env.get("LACONIC_TRACE") else None,
    )
    folder, steps = env.get("LACONIC_JOURNAL"), _number(env, "LACONIC_STEPS", 0)
    where = Path(folder) if folder else None
    journal.start(where, session.rank, session.world, session.interface, int(steps) or None)
    profile = env.get("LACONIC_PROFILE")
    profiler.start(Path(profile) / f"rank{session.rank}.json" if profile else None)
    return session


def _group_timeout_s() -> float | None:
    """How long the process group that exists already waits."""
    if not dist.is_initialized():
        return None
    world = dist.group.WORLD
    assert world is not None, "initialized"
    device = torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")
    patience: timedelta = world._get_backend(device).options._timeout  # noqa: SLF001  (there is no public way)
    return patience.total_seconds()


def _is_local(env: os._Environ[str]) -> bool:
    return env.get("LOCAL_WORLD_SIZE", "1") == env.get("WORLD_SIZE", "1")


def _keys(env: os._Environ[str]) -> Keys | None:
    if env.get("LACONIC_KEY"):
        return Keys.from_text(env["LACONIC_KEY"])
    return read_keys(Path(env["LACONIC_KEY_FILE"])) if env.get("LACONIC_KEY_FILE") else None


def _number(env: os._Environ[str], key: str, default: float) -> float:
    text = env.get(key, "")
    try:
        return float(text) if text else default
    except ValueError:
        raise UsageError(f"{key}={text!r} is not a number.") from None


def _join(limit: float, backend: str | None) -> None:
    patience = timedelta(seconds=limit)
    try:
        store, rank, world = next(rendezvous("env://", timeout=patience))
    except (RuntimeError, ValueError) as error:
        where = f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
        raise PeerError(
            f"Rank {os.environ['RANK']} found no job at {where} within {limit:g} s: rank 0 is missing or the "
            f"address is wrong ({_first_line(error)})."
        ) from error
    _wait_for_all(store, rank, world, limit)
    try:
        dist.init_process_group(
            backend or ("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"),
            store=store,
            rank=rank,
            world_size=world,
            timeout=patience,
        )
    except RuntimeError as error:
        raise PeerError(f"Rank {rank} could not connect to its peers: {_first_line(error)}.") from error
    atexit.register(_leave)


def _leave() -> None:
    """A group that outlives the interpreter sometimes aborts the process (pytorch#190489). Not after an error: peers
    may be gone, and taking leave of them could block."""
    if dist.is_initialized() and getattr(sys, "last_value", None) is None:
        gc.collect()
        dist.destroy_process_group()


def _wait_for_all(store: Store, rank: int, world: int, limit: float) -> None:
    """Everybody signs in, so that a rank that never came can be named."""
    keys = [f"laconic/joined/{r}" for r in range(world)]
    store.set(keys[rank], "here")
    try:
        store.wait(keys, timedelta(seconds=limit))
    except RuntimeError as error:
        missing = [str(r) for r, key in enumerate(keys) if not store.check([key])]
        raise PeerError(
            f"Rank {rank} waited {limit:g} s for {world} ranks to join; missing: {', '.join(missing)}. Start them, or "
            f"give them more time with laconic.init(timeout_s=...) or LACONIC_TIMEOUT."
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200].rstrip(".")

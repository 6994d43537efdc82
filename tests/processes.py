"""Real processes for tests: `run(world, function, *args)` and every rank's answer comes back.

`function(rank, world, *args)` must be importable (defined at the top of a module). Each rank finds
torchrun's variables in its environment; the store lives here, in the caller, as it lives in
torchrun's agent: a rank that dies does not take it along. So inside a rank `laconic.init()` or
`join()` works as under torchrun. Processes are forked from a server that has imported torch once,
which makes a world of four cost a fraction of a second.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_any
from typing import Any

import torch
import torch.distributed as dist

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Outcome:
    """What one rank returned, or the text of what it raised or how it ended."""

    result: Any = None
    error: str = ""


def run(
    world: int,
    function: Callable[..., Any],
    *args: Any,
    timeout_s: float = 60,
    env: Mapping[str, str] | None = None,
) -> list[Outcome]:
    """One outcome a rank, in rank order. What has not answered after `timeout_s` is killed."""
    store = dist.TCPStore(HOST, 0, is_master=True, wait_for_workers=False)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch._dynamo", "laconic", "pytest", "hypothesis"])
    pipes, processes = [], []
    for rank in range(world):
        ours, theirs = context.Pipe(duplex=False)
        variables = _environment(rank, world, store.port) | dict(env or {})
        process = context.Process(target=_rank, args=(theirs, variables, function, rank, world, args), daemon=True)
        process.start()
        theirs.close()
        pipes.append(ours)
        processes.append(process)
    try:
        return _collect(pipes, processes, timeout_s)
    finally:
        for pipe, process in zip(pipes, processes, strict=True):
            process.kill()
            process.join()
            process.close()
            pipe.close()


def results(
    world: int,
    function: Callable[..., Any],
    *args: Any,
    timeout_s: float = 60,
    env: Mapping[str, str] | None = None,
) -> list[Any]:
    """Like `run`, where every rank must succeed: the results alone."""
    outcomes = run(world, function, *args, timeout_s=timeout_s, env=env)
    failed = [f"rank {rank}: {o.error}" for rank, o in enumerate(outcomes) if o.error]
    assert not failed, "\n".join(failed)
    return [o.result for o in outcomes]


def join(timeout_s: float = 30) -> dist.ProcessGroup:
    """Inside a rank: the process group of all ranks, over gloo."""
    dist.init_process_group("gloo", timeout=timedelta(seconds=timeout_s))
    group = dist.group.WORLD
    assert group is not None
    return group


def _environment(rank: int, world: int, port: int) -> dict[str, str]:
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(world),
        "MASTER_ADDR": HOST,
        "MASTER_PORT": str(port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "OMP_NUM_THREADS": "1",
    }


def _rank(
    pipe: Connection,
    variables: Mapping[str, str],
    function: Callable[..., Any],
    rank: int,
    world: int,
    args: tuple[Any, ...],
) -> None:
    os.environ.update(variables)
    torch.set_num_threads(1)
    try:
        outcome = Outcome(result=function(rank, world, *args))
    except BaseException:  # noqa: BLE001  (whatever it was, the caller wants to read it)
        outcome = Outcome(error=traceback.format_exc())
    # Plain pickle: multiprocessing's own would pass tensors by handles that die with this process.
    pipe.send_bytes(pickle.dumps(outcome))
    pipe.close()
    if not outcome.error and dist.is_initialized():
        dist.destroy_process_group()
    os._exit(0)  # a broken group may block an orderly exit


def _collect(pipes: list[Connection], processes: list[Any], timeout_s: float) -> list[Outcome]:
    outcomes: dict[int, Outcome] = {}
    end = time.monotonic() + timeout_s
    while len(outcomes) < len(pipes) and time.monotonic() < end:
        open_pipes = [p for rank, p in enumerate(pipes) if rank not in outcomes]
        for ready in wait_any(open_pipes, timeout=max(0.0, end - time.monotonic())):
            rank = pipes.index(ready)  # type: ignore[arg-type]
            try:
                outcomes[rank] = pickle.loads(pipes[rank].recv_bytes())
            except EOFError:
                processes[rank].join()
                outcomes[rank] = Outcome(error=f"the process ended with code {processes[rank].exitcode}")
    silent = Outcome(error=f"no answer within {timeout_s:g} s; killed")
    return [outcomes.get(rank, silent) for rank in range(len(pipes))]

"""A real all-reduce between two processes of this machine, under a time limit.

`python -m laconic.cli.loopback RANK FILE` is one of the two processes; they meet in FILE, so no
port can be taken already.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

WORLD = 2
LIMIT_S = 60.0


def all_reduce_fault(limit_s: float = LIMIT_S) -> str | None:
    """None if two processes can sum a tensor over gloo, else what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        workers = [_start(rank, store) for rank in range(WORLD)]
        deadline = time.monotonic() + limit_s
        try:
            faults = [_fault(worker, deadline) for worker in workers]
        except subprocess.TimeoutExpired:
            return f"no answer within {limit_s:g} s"
        finally:
            for worker in workers:
                worker.kill()
                worker.communicate()
    return next(filter(None, faults), None)


def _start(rank: int, store: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "laconic.cli.loopback", str(rank), str(store)]
    return subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )


def _fault(worker: subprocess.Popen[str], deadline: float) -> str | None:
    _, errors = worker.communicate(timeout=max(0.0, deadline - time.monotonic()))
    if worker.returncode == 0:
        return None
    lines = errors.strip().splitlines()
    return lines[-1] if lines else f"a process ended with exit code {worker.returncode}"


def take_part(rank: int, store: Path) -> None:
    """Sum 1, 2 over both ranks; ends with an error unless the sum is 3."""
    dist.init_process_group(
        "gloo",
        init_method=store.as_uri(),
        rank=rank,
        world_size=WORLD,
        timeout=timedelta(seconds=LIMIT_S),
    )
    values = torch.full((1024,), rank + 1.0)
    dist.all_reduce(values)
    dist.destroy_process_group()
    if not bool((values == 3.0).all()):
        sys.exit(f"the sum of 1 and 2 came out as {values[0].item():g}")


if __name__ == "__main__":
    take_part(int(sys.argv[1]), Path(sys.argv[2]))

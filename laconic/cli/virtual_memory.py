"""How much memory virtual workers need, and whether there is so much.

    a worker     its model, its optimizer's state, what its plan remembers, and its gradients three times: as they
                 were computed, in the bucket that leaves, and as the mean that comes back
    all          what one worker computes with, since only one computes at a time

Rather too much than too little: 64 to 256 workers of the three tasks needed 0.4 to 0.95 of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor

from laconic.core import state as tree
from laconic.core.errors import UsageError
from laconic.core.exchange import Seat
from laconic.core.units import bytes_text
from laconic.drive.virtual import VirtualCrew
from laconic.plan import Plan
from laconic.sim.train import Job, replica_of
from laconic.stepping.rounds import Rounds

MEMINFO = Path("/proc/meminfo")
THREAD_BYTES = 2 << 20  # of every worker: its thread's stack and heap, Python's objects
COMPUTING_BYTES = 256 << 20


def refuse_large(text: str, plan: Plan, job: Job, optimizer: torch.optim.Optimizer, world: int) -> None:
    """`optimizer`: one that has taken a step, so that its state is there."""
    needed = world * worker_bytes(plan, job, optimizer, world) + COMPUTING_BYTES
    available = available_bytes()
    if available is not None and needed > available:
        raise UsageError(
            f"{text}: {world} virtual workers need about {bytes_text(needed)} of memory, and {bytes_text(available)} "
            f"are available. Give fewer --workers."
        )


def worker_bytes(plan: Plan, job: Job, optimizer: torch.optim.Optimizer, world: int) -> int:
    model, fresh = job.make()
    (driver,) = VirtualCrew(1).drivers
    replica = replica_of(model, fresh, plan, Seat(0, world, plan.topology), driver)
    remembered = [*replica.anchor, *(t for s in replica.state for t in tree.to_dict(s).values())]
    if isinstance(replica.stepping, Rounds):
        remembered += [t for memory in replica.stepping.memory for t in memory]
    kept = (t for state in optimizer.state.values() for t in state.values() if isinstance(t, Tensor))
    gradients = 3 * _bytes(p for p in model.parameters() if p.requires_grad)
    replica.close()
    return gradients + _bytes([*model.parameters(), *model.buffers(), *kept, *remembered]) + THREAD_BYTES


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum(t.nbytes for t in tensors)


def available_bytes() -> int | None:
    """What Linux would give without swapping; None elsewhere."""
    try:
        lines = MEMINFO.read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), None)

"""What does Laconic itself cost? Step time of the plan `none` against torch's DDP on the 10M `bytes` model.

    laconic run -n 4 bench/overhead.py

Both train in the same four processes, each its own copy of the model, and take turns step by step, each first every
other time, so that whatever else the machine does meets both alike. (Separate launches were tried first: on a busy
machine they differed by a factor of two.) A repetition gives one ratio of median steps; printed are the median and the
spread of the ratios. Must hold: at most 1.05.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from statistics import median

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional as F

import laconic
from laconic.tasks import bytes as task
from laconic.tasks.gpt import GPT
from laconic.tasks.shard import batches
from laconic.tasks.start import start

WARMUP_STEPS = 5


class Trainee:
    """One copy of the model with the plan it trains under."""

    def __init__(self, plan: str) -> None:
        torch.manual_seed(0)
        self.plan = plan
        self.model = GPT(task.LAYERS, task.WIDTH, task.HEADS, task.CONTEXT)
        self.optimizer = task.adamw(self.model, lr=1e-4)
        self.replica = laconic.distribute(self.model, self.optimizer, plan)

    def step_s(self, x: Tensor, y: Tensor) -> float:
        started = time.perf_counter()
        F.cross_entropy(self.model(x).flatten(0, 1), y.flatten()).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return time.perf_counter() - started


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--plan", default="none")
    options.add_argument("--against", default="ddp")
    options.add_argument("--repetitions", type=int, default=5)
    options.add_argument("--steps", type=int, default=10, help="of each plan in a repetition")
    options.add_argument("--batch", type=int, default=4, help="per worker")
    chosen = options.parse_args()
    session = laconic.init()
    data = batches_of_text(chosen.batch, session.rank, session.world)
    ours, theirs = Trainee(chosen.plan), Trainee(chosen.against)
    measure(ours, theirs, WARMUP_STEPS, data)
    ratios = []
    for number in range(1, chosen.repetitions + 1):
        ours_s, theirs_s = measure(ours, theirs, chosen.steps, data)
        ratios += [ours_s / theirs_s]
        if session.rank == 0:
            figures = f"{ours.plan} {ours_s * 1e3:.1f} ms, {theirs.plan} {theirs_s * 1e3:.1f} ms"
            print(f"repetition {number}: {figures}, ratio {ratios[-1]:.3f}", file=sys.stderr, flush=True)
    if session.rank == 0:
        spread = f"{min(ratios):.3f}..{max(ratios):.3f} in {len(ratios)} repetitions"
        print(f"{ours.plan} / {theirs.plan}, {session.world} workers, median step: {median(ratios):.3f} ({spread})")


def measure(ours: Trainee, theirs: Trainee, steps: int, data: Iterator[tuple[Tensor, Tensor]]) -> tuple[float, float]:
    """The median step of each, taken in turns."""
    taken: dict[Trainee, list[float]] = {ours: [], theirs: []}
    for number in range(steps):
        x, y = next(data)
        for trainee in (ours, theirs) if number % 2 else (theirs, ours):
            if dist.is_initialized():
                dist.barrier()  # nobody is still busy with the other's step
            taken[trainee].append(trainee.step_s(x, y))
    return median(taken[ours]), median(taken[theirs])


def batches_of_text(batch: int, rank: int, world: int) -> Iterator[tuple[Tensor, Tensor]]:
    text, _ = task.windows(task.CONTEXT, eval_windows=1)
    for indices in batches(len(text), batch, rank=rank, world=world, seed=0):
        yield text.take(indices)


if __name__ == "__main__":
    start(main)

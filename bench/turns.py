"""Plans on one task, by turns in one run: what `laconic compare` finds, in a tenth of the time and without drift.

    laconic run --hosts 4 --rate 100mbit bench/turns.py digits --plans "ddp; none; local(4)" [--json OUT] [-- --batch 8]

Every plan trains a copy of the task's model of its own. A turn is a few steps, after four that do not count (caches);
both are multiples of four, so that plans that talk every other or every fourth step get their share. Measured schedules
settle first. Printed: the mean step of a turn, the median of all turns with its spread.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from pathlib import Path
from statistics import median

import torch.distributed as dist
from torch.nn import functional as F

import laconic
from laconic.compare.workload import USUAL
from laconic.core.units import seconds_text
from laconic.integrations.ddp_baseline import DdpReplica
from laconic.pilot import WARM, WATCH
from laconic.schedule.halving import ROUNDS, WINDOW
from laconic.tasks.shard import batches
from laconic.tasks.start import start

PATTERN = 4
# steps of a measured schedule before it has decided
SETTLING = WARM + WATCH + 3 * ROUNDS * (WINDOW + 1) + 2


class Trainee:
    def __init__(self, plan: str, name: str, args: list[str], rank: int, world: int) -> None:
        module = importlib.import_module(f"laconic.tasks.{name}")
        parsed = module.arguments([*USUAL.get(name, ()), *args])
        self.plan, self.task = plan, module.task(parsed)
        self.replica = laconic.distribute(self.task.model, self.task.optimizer, plan)
        self.order = batches(len(self.task.train), parsed.batch, seed=parsed.seed, rank=rank, world=world)
        self.turns_s: list[float] = []

    def settle(self) -> None:
        piloted = not isinstance(self.replica, DdpReplica) and self.replica.pilot is not None
        self._steps(-(-SETTLING // PATTERN) * PATTERN if piloted else PATTERN)

    def turn(self, steps: int) -> None:
        self._steps(PATTERN)
        self._meet()
        began = time.perf_counter()
        self._steps(steps)
        self._meet()
        self.turns_s.append((time.perf_counter() - began) / steps)

    def _meet(self) -> None:
        if not isinstance(self.replica, DdpReplica) and self.replica.crossing is not None:
            self.replica.flush()  # the last step belongs to this turn
        if dist.is_initialized():
            dist.barrier()

    def _steps(self, count: int) -> None:
        for _ in range(count):
            x, y = self.task.train.take(next(self.order))
            F.cross_entropy(self.task.model(x).flatten(0, -2), y.flatten()).backward()
            self.task.optimizer.step()
            self.task.optimizer.zero_grad()


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    options.add_argument("task", choices=("digits", "bytes", "fashion"))
    options.add_argument("--plans", required=True, help="separated by ';'; ddp and ddp+bf16 are plans here")
    options.add_argument("--steps", type=int, default=8, help="of a turn, a multiple of 4")
    options.add_argument("--turns", type=int, default=5)
    options.add_argument("--json", type=Path)
    chosen, rest = options.parse_known_args()
    if chosen.steps % PATTERN:
        options.error(f"--steps {chosen.steps} is no multiple of {PATTERN}")
    session = laconic.init()
    plans = [text.strip() for text in chosen.plans.split(";")]
    seat = [word for word in rest if word != "--"], session.rank, session.world
    trainees = [Trainee(plan, chosen.task, *seat) for plan in plans]
    for trainee in trainees:
        trainee.settle()
    for number in range(chosen.turns):
        for k in range(len(trainees)):
            trainees[(number + k) % len(trainees)].turn(chosen.steps)
    if session.rank == 0:
        for t in trainees:
            spread = f"{seconds_text(min(t.turns_s))} .. {seconds_text(max(t.turns_s))}"
            print(f"{t.plan:40}  {seconds_text(median(t.turns_s)):>8}  [{spread}]", flush=True)
        if chosen.json:
            told = {t.plan: {"median_s": median(t.turns_s), "turns_s": t.turns_s} for t in trainees}
            chosen.json.write_text(json.dumps({"task": chosen.task, "plans": told}) + "\n")
    for trainee in trainees:
        trainee.replica.close()


if __name__ == "__main__":
    start(main)

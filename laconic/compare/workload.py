"""What every row trains: one of our tasks, or the user's own script."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from laconic.compare.target import Target
from laconic.core.errors import UsageError
from laconic.launch.job import Script
from laconic.tasks.evaluate import Score

TASKS = {"digits": 200, "bytes": 32, "fashion": 32}  # steps, unless asked for others
# Ten thousand images would take ResNet-18 longer than the training. Four examples of a GPT keep a core as busy as the
# network, and links are what is compared here. The user's own argument comes later and wins.
USUAL = {"fashion": ("--eval-images", "2000"), "bytes": ("--batch", "1")}


@dataclass(frozen=True)
class Workload:
    """`steps` None: as many as the script takes by itself. A script is ended after `steps`, a task is told them."""

    name: str
    args: tuple[str, ...]
    steps: int | None
    is_task: bool
    first_seed: int = 0
    evaluate_every: int | None = None  # steps; None: as the task does by itself
    batch: int | None = None  # examples a worker and step, of a task

    def script(self, repetition: int) -> Script:
        """The same data and weights for every row; another seed in every repetition, where we can choose it."""
        if not self.is_task:
            return Script(self.name, is_module=False, args=self.args)
        told = ["--steps", str(self.steps), "--seed", str(self.first_seed + repetition)]
        if self.evaluate_every is not None:
            told += ["--eval-every", str(self.evaluate_every)]
        return Script(f"laconic.tasks.{self.name}", is_module=True, args=(*USUAL.get(self.name, ()), *self.args, *told))

    @property
    def last_step(self) -> int | None:
        return None if self.is_task else self.steps


def workload(name: str, args: Sequence[str], steps: int | None) -> Workload:
    """Refuses what cannot run, before anything runs."""
    if steps is not None and steps < 2:
        raise UsageError(f"--steps {steps}: a step is timed from one optimizer step to the next, so give at least 2.")
    if name not in TASKS:
        if not Path(name).is_file():
            near = difflib.get_close_matches(name, TASKS, n=1)
            guess = f" Did you mean '{near[0]}'?" if near else ""
            raise UsageError(f"there is no task or script '{name}'.{guess} Tasks: {', '.join(TASKS)}.")
        return Workload(name, tuple(args), steps, is_task=False)
    parsed = task_module(name).arguments([*USUAL.get(name, ()), *args])
    if parsed.plan is not None or parsed.json is not None:
        raise UsageError(f"{name} must not be given --plan or --json of its own: compare chooses plans (--plans).")
    steps = steps or TASKS[name]
    return Workload(name, tuple(args), steps, is_task=True, first_seed=parsed.seed, batch=parsed.batch)


def check_target(work: Workload, target: Target) -> None:
    """A metric the task does not report can never be reached."""
    if work.is_task:
        known = task_module(work.name).metrics(Score(loss=0.0, accuracy=0.0))
        if target.metric not in known:
            raise UsageError(f"--until {target}: {work.name} reports {', '.join(known)}.")


def task_module(name: str) -> ModuleType:
    return importlib.import_module(f"laconic.tasks.{name}")

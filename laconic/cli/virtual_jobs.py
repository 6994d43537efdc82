"""What virtual workers train: the tasks, at the sizes of which hundreds fit into one process.

    digits    the task's CNN, batch 16, SGD at 0.05
    fashion   the task's small CNN, batch 32, SGD at 0.2; judged on 1,000 of the held-out images
    bytes     a GPT of 2 layers, 64 wide, on windows of 64 bytes, batch 4, AdamW at 5e-4

Data are shared out as the tasks do it (tasks/shard.py). Learning rates are constant: a schedule would make a step's
worth depend on how many were asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from laconic.core.errors import UsageError
from laconic.sim.train import Batches, Job
from laconic.tasks import bytes as text
from laconic.tasks import digits, fashion
from laconic.tasks.evaluate import evaluate
from laconic.tasks.loop import Task
from laconic.tasks.shard import batches


@dataclass(frozen=True)
class Small:
    """A task as virtual workers train it: its own options, and its optimizer unless `lr` names plain SGD."""

    make: Callable[[list[str]], Task]
    options: tuple[str, ...]
    batch: int
    lr: float | None = None


TASKS = {
    "digits": Small(lambda argv: digits.task(digits.arguments(argv)), (), 16, 0.05),
    "fashion": Small(lambda argv: fashion.task(fashion.arguments(argv)), ("--eval-images", "1000"), 32),
    "bytes": Small(
        lambda argv: text.task(text.arguments(argv)),
        ("--layers", "2", "--width", "64", "--heads", "2", "--context", "64"),
        4,
    ),
}


def job_of(name: str, batch: int | None, seed: int) -> Job:
    small = TASKS.get(name)
    if small is None:
        raise UsageError(f"--train {name}: there is no such task. Virtual workers can train {', '.join(TASKS)}.")
    with torch.random.fork_rng(devices=[]):
        task = small.make([*small.options, "--seed", str(seed)])
    optimizer = task.optimizer
    if small.lr is not None:
        optimizer = torch.optim.SGD(task.model.parameters(), lr=small.lr, weight_decay=5e-4)

    def make() -> tuple[nn.Module, torch.optim.Optimizer]:
        return deepcopy((task.model, optimizer))  # together, so that the copies belong to each other

    def loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(model(x).flatten(0, -2), y.flatten())

    def data(rank: int, world: int) -> Batches:
        mine = batches(len(task.train), batch or small.batch, rank=rank, world=world, seed=seed)
        return (task.train.take(i) for i in mine)

    def score(model: nn.Module) -> dict[str, float]:
        return task.metrics(evaluate(model, task.heldout, batch=task.eval_batch, rank=0, world=1))

    return Job(make, loss, data, score)

"""The options every task has, and what they are called."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

DEFAULT = "(default: %(default)s)"
EVAL_HELP = (
    "evaluate every N steps, 0: only after the last (default: %(default)s). Evaluating flushes the replicas, which "
    "under local(H) averages them: keep N a multiple of H; under asp and ssp rank 0 looks at its own model"
)


@dataclass(frozen=True)
class Options:
    steps: int
    batch: int  # examples per worker and step
    seed: int
    lr: float
    eval_every: int  # steps
    plan: str | None
    json: Path | None


def parser(task: str, summary: str, *, steps: int, batch: int, lr: float, eval_every: int) -> argparse.ArgumentParser:
    """A parser with the shared options; the numbers are the task's defaults."""
    made = argparse.ArgumentParser(prog=f"python -m laconic.tasks.{task}", description=summary)
    add = made.add_argument
    add("--steps", type=positive, default=steps, help=f"optimizer steps {DEFAULT}")
    add("--batch", type=positive, default=batch, help=f"examples per worker and step {DEFAULT}")
    add("--seed", type=natural, default=0, help=f"of weights and data order {DEFAULT}")
    add("--lr", type=float, default=lr, help=f"highest learning rate of the schedule {DEFAULT}")
    add("--eval-every", type=natural, default=eval_every, metavar="N", help=EVAL_HELP)
    add("--plan", metavar="TEXT", help="what to say, when, to whom (default: LACONIC_PLAN)")
    add("--json", type=Path, metavar="OUT", help="append the result to OUT as one JSON line")
    return made


def shared(parsed: argparse.Namespace) -> Options:
    return Options(
        steps=parsed.steps,
        batch=parsed.batch,
        seed=parsed.seed,
        lr=parsed.lr,
        eval_every=parsed.eval_every,
        plan=parsed.plan,
        json=parsed.json,
    )


def positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def natural(text: str) -> int:
    if (number := int(text)) < 0:
        raise argparse.ArgumentTypeError(f"{number} is negative")
    return number

"""The training loop of every task: a plain PyTorch loop with the one added line, watched by a meter.

Everything after `distribute` is what a user would have written without Laconic, except `flush` before an evaluation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer

import laconic
from laconic.core.files import check_writable
from laconic.core.units import bytes_text, seconds_text
from laconic.journal import Journal
from laconic.session import Session
from laconic.sync.shared import IN_ANY_ORDER, AbstractShared
from laconic.tasks.evaluate import Score, evaluate
from laconic.tasks.examples import Examples
from laconic.tasks.meter import AnyReplica, Meter
from laconic.tasks.options import Options
from laconic.tasks.progress import LOG_EVERY_S, WATCHED_EVERY_S, Progress
from laconic.tasks.record import append_line
from laconic.tasks.shard import batches
from laconic.tasks.warmup_cosine import warmup_cosine


@dataclass(frozen=True, eq=False)
class Task:
    name: str
    variant: str  # the model's name and sizes
    model: nn.Module
    optimizer: Optimizer
    train: Examples
    heldout: Examples
    eval_batch: int
    metrics: Callable[[Score], dict[str, float]]


def train(task: Task, options: Options, session: Session) -> dict[str, Any]:
    """Train, evaluate, report; returns the record that `--json` appends (the same on every rank but for timings)."""
    first = session.rank == 0
    if first and options.json is not None:
        check_writable(options.json, "--json")
    every_s = LOG_EVERY_S if Journal.current is None else WATCHED_EVERY_S
    progress = Progress(task.name, options.steps, sys.stderr if first else None, log_every_s=every_s)
    replica = laconic.distribute(task.model, task.optimizer, options.plan, seed=options.seed)
    meter = Meter(replica)
    history = _loop(task, options, session, replica, meter, progress)
    record = _record(task, options, session, replica, meter, history)
    if first:
        print("\n".join([_summary(record), *(f"  {text}" for text in record["decisions"])]), flush=True)
        if options.json is not None:
            append_line(options.json, record)
    return record


def _loop(
    task: Task, options: Options, session: Session, replica: AnyReplica, meter: Meter, progress: Progress
) -> list[dict[str, float]]:
    schedule = warmup_cosine(task.optimizer, options.steps)
    place = {"rank": session.rank, "world": session.world}
    order = batches(len(task.train), options.batch, seed=options.seed, **place)
    history: list[dict[str, float]] = []
    for step in range(1, options.steps + 1):
        with meter.step():
            loss = _step(task, *task.train.take(next(order)))
            schedule.step()
        if isinstance(replica, laconic.Replica):
            replica.observe(loss)
        progress.step(step, meter.recent_step_s(), loss=loss)
        last = step == options.steps
        if last or (options.eval_every and step % options.eval_every == 0):
            if not last and _at_their_own_pace(replica):
                if session.rank:
                    continue
                score = evaluate(task.model, task.heldout, batch=task.eval_batch, rank=0, world=1)
            else:
                replica.average() if last else replica.flush()
                score = evaluate(task.model, task.heldout, batch=task.eval_batch, **place)
            metrics = task.metrics(score)
            laconic.log(**metrics)
            progress.result(step, metrics)
            history.append({"step": step, "seconds": meter.seconds, "train_loss": loss, **metrics})
    return history


def _at_their_own_pace(replica: AnyReplica) -> bool:
    """Does nobody wait for all (asp, ssp)? An evaluation in common would make them: rank 0 looks at its own model."""
    sync = replica.plan.sync if isinstance(replica, laconic.Replica) else None
    return isinstance(sync, AbstractShared) and sync.order == IN_ANY_ORDER


def _step(task: Task, x: Tensor, y: Tensor) -> float:
    loss = F.cross_entropy(task.model(x).flatten(0, -2), y.flatten())
    loss.backward()
    task.optimizer.step()
    task.optimizer.zero_grad()
    return loss.item()


def _record(
    task: Task, options: Options, session: Session, replica: AnyReplica, meter: Meter, history: list[dict[str, float]]
) -> dict[str, Any]:
    counts = (*meter.bytes_so_far(), meter.tx_bytes or 0)
    wire_bytes, dense_bytes, tx_bytes = _mean_over_ranks(counts, session.world)
    metrics = {key: value for key, value in history[-1].items() if key not in ("step", "seconds", "train_loss")}
    return {
        "task": task.name,
        "plan": str(replica.plan),
        "world": session.world,
        "steps": options.steps,
        "batch": options.batch,
        "seed": options.seed,
        "lr": options.lr,
        "model": task.variant,
        "parameters": sum(parameter.numel() for parameter in task.model.parameters()),
        "metrics": metrics,
        "history": history,
        "wire_bytes_per_step": wire_bytes / options.steps,
        "dense_bytes_per_step": dense_bytes / options.steps,
        "tx_bytes_per_step": None if meter.tx_bytes is None else tx_bytes / options.steps,
        **meter.timings(),
        "skipped_steps": replica.stats.skipped_steps,
        "staleness": replica.stats.staleness,
        "dropped_updates": replica.stats.dropped_updates,
        "decisions": list(replica.decisions) if isinstance(replica, laconic.Replica) else [],
    }


def _mean_over_ranks(counts: tuple[int, ...], world: int) -> list[float]:
    """Ranks may send different amounts; a worker's average is what a plan costs."""
    sums = torch.tensor(counts, dtype=torch.float64)
    if world > 1:
        dist.all_reduce(sums)
    means: list[float] = (sums / world).tolist()
    return means


def _summary(record: dict[str, Any]) -> str:
    metrics = ", ".join(f"{name} {value:.4f}" for name, value in record["metrics"].items())
    return (
        f"{record['task']} ({record['model']}, {record['parameters']:,} parameters), plan {record['plan']}, "
        f"{record['world']} workers, {record['steps']} steps: {metrics}; "
        f"{bytes_text(record['wire_bytes_per_step'])} per step and worker on the wire "
        f"(dense: {bytes_text(record['dense_bytes_per_step'])}), median step {seconds_text(record['step_s_median'])}"
    )

"""`laconic simulate PLAN --train TASK`: real trainings with virtual workers, in simulated time."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from laconic.core.errors import UsageError
from laconic.core.files import json_text
from laconic.core.units import bytes_text, seconds_text
from laconic.lab.rate import parse_seconds
from laconic.plan import Plan
from laconic.planner.profiler import Profiler
from laconic.sim.model import ModelTable
from laconic.sim.network import Network
from laconic.sim.pace import pace
from laconic.sim.step import Setting
from laconic.sim.stragglers import parse_stragglers
from laconic.sim.train import Batches, Job, Seen, virtual
from laconic.tasks import digits
from laconic.tasks.evaluate import evaluate
from laconic.tasks.shard import batches

EVALUATIONS = 10
BATCH = 16
LR = 0.05


def train(args: argparse.Namespace, plans: Sequence[tuple[str, Plan]], worlds: Sequence[int], network: Network) -> int:
    from laconic.cli.simulate import STEPS, machine_of

    if args.train != "digits":
        raise UsageError(
            f"--train {args.train}: virtual workers can train digits only; it is small enough for hundreds."
        )
    steps, seed = STEPS if args.steps is None else args.steps, args.seed or 0
    if steps < 1:
        raise UsageError(f"--steps {steps}: give at least 1.")
    machine, stragglers = machine_of(args), parse_stragglers(args.stragglers, seed)
    job = digits_job(args.batch or BATCH, seed)
    table = _profiled(job)
    if args.compute is not None:
        table = table.scaled(parse_seconds(args.compute))
    out = []
    if not args.json:
        print(f"digits, {table.numel:,} parameters, {seconds_text(table.step_s)} of computing a step; link {args.link}")
    for text, plan in plans:
        for world in worlds:
            seconds = pace(plan, Setting(table, network, world, machine), stragglers).seconds
            seen = virtual(plan, job, world, steps, max(1, steps // EVALUATIONS), seconds)
            out.append({"plan": text, "workers": world, "step_s": seconds, "points": [vars(s) for s in seen]})
            if not args.json:
                print(f"\n{text}, {world} workers, {seconds_text(seconds)} a step (simulated)")
                print("\n".join(map(_line, seen)))
    if args.json:
        print(json_text(out, indent=1))
    return 0


def _line(s: Seen) -> str:
    metrics = "  ".join(f"{name} {value:.4f}" for name, value in s.metrics.items())
    return f"  step {s.step:5}  {seconds_text(s.seconds):>9}  {bytes_text(s.sent_bytes):>9} sent  {metrics}"


def digits_job(batch: int, seed: int) -> Job:
    train_images, heldout = digits.load()

    def make() -> tuple[nn.Module, torch.optim.Optimizer]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            net = digits.model()
        return net, torch.optim.SGD(net.parameters(), lr=LR, momentum=0.0, weight_decay=5e-4)

    def loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(model(x), y)

    def data(rank: int, world: int) -> Batches:
        return (train_images.take(i) for i in batches(len(train_images), batch, rank=rank, world=world, seed=seed))

    def score(model: nn.Module) -> dict[str, float]:
        return digits.metrics(evaluate(model, heldout, batch=digits.HELD_OUT, rank=0, world=1))

    return Job(make, loss, data, score)


def _profiled(job: Job) -> ModelTable:
    """A few steps of one worker, here and now."""
    watcher = Profiler.watching()
    model, optimizer = job.make()
    watcher.attach(model, optimizer)
    for x, y in job.batches(0, 1):
        job.loss(model, x, y).backward()
        optimizer.step()
        optimizer.zero_grad()
        if watcher.enough:
            break
    return replace(watcher.table(), name="digits")

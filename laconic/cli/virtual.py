"""`laconic simulate PLAN --train TASK`: real trainings with virtual workers, in simulated time."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from laconic.cli.simulate_setting import STEPS, machine_of, settings
from laconic.cli.simulate_table import DECLARED
from laconic.cli.virtual_jobs import job_of
from laconic.cli.virtual_memory import refuse_large
from laconic.core.errors import UsageError
from laconic.core.files import json_text
from laconic.core.units import bytes_text, seconds_text
from laconic.lab.rate import parse_seconds
from laconic.plan import Plan
from laconic.planner.profiler import Profiler
from laconic.sim.changing import ADAPTS
from laconic.sim.exchanges import Setting
from laconic.sim.model import ModelTable
from laconic.sim.network import Network
from laconic.sim.phases import Prices
from laconic.sim.stragglers import parse_stragglers
from laconic.sim.train import Job, Seen, Trained, refuse, virtual

EVALUATIONS = 10
UNTIMED = "simulated seconds are those of the plan as it begins; what it decided on the way changed its bytes alone"


def train(args: argparse.Namespace, plans: Sequence[tuple[str, Plan]], worlds: Sequence[int], network: Network) -> int:
    steps, seed = STEPS if args.steps is None else args.steps, args.seed or 0
    if steps < 1:
        raise UsageError(f"--steps {steps}: give at least 1.")
    for _, plan in plans:
        refuse(plan)
    machine, stragglers = machine_of(args), parse_stragglers(args.stragglers, seed)
    job = job_of(args.train, args.batch, seed)
    table, optimizer = _profiled(job, args.train)
    for text, plan in plans:
        refuse_large(text, plan, job, optimizer, max(worlds))
    if args.compute is not None:
        table = table.scaled(parse_seconds(args.compute))
    out = []
    if not args.json:
        print(
            f"{args.train}, {table.numel:,} parameters, {seconds_text(table.step_s)} of computing a step; "
            f"link {args.link}; judged is the mean of all workers' models"
        )
    for text, plan in plans:
        for world in worlds:
            prices = Prices(Setting(table, network, world, machine), stragglers)
            trained = virtual(plan, job, world, steps, max(1, steps // EVALUATIONS), prices)
            run = _run(text, world, trained, prices.notes)
            out.append(run)
            if not args.json:
                print(f"\n{text}, {world} workers, {seconds_text(run['step_s'])} a step (simulated)")
                print("\n".join([*map(_line, trained.seen), *_phases(trained), *(f"  {n}" for n in _told(run))]))
    if args.json:
        print(json_text({**settings(args, table, stragglers), "rows": out}, indent=1))
    return 0


def _run(text: str, world: int, trained: Trained, notes: Sequence[str]) -> dict[str, Any]:
    last = trained.seen[-1]
    return {
        "plan": text,
        "workers": world,
        "step_s": last.seconds / last.step,
        "phases": [{**vars(p), "plan": str(p.plan)} for p in trained.phases],
        "points": [vars(s) for s in trained.seen],
        "decisions": trained.decisions,
        "notes": [UNTIMED if n == ADAPTS and trained.decisions else n for n in notes],
    }


def _told(run: dict[str, Any]) -> list[str]:
    return [*run["decisions"], *(f"{note}." for note in run["notes"] if note != DECLARED)]


def _phases(trained: Trained) -> list[str]:
    """Where there are several."""
    if len(trained.phases) < 2:
        return []
    return [f"  from step {p.from_step} on: {seconds_text(p.step_s)} a step, as {p.plan}" for p in trained.phases]


def _line(s: Seen) -> str:
    metrics = "  ".join(f"{name} {value:.4f}" for name, value in s.metrics.items())
    return f"  step {s.step:5}  {seconds_text(s.seconds):>9}  {bytes_text(s.sent_bytes):>9} sent  {metrics}"


def _profiled(job: Job, name: str) -> tuple[ModelTable, torch.optim.Optimizer]:
    """A few steps of one worker, here and now; and its optimizer, which has all it will keep."""
    watcher = Profiler.watching()
    model, optimizer = job.make()
    watcher.attach(model, optimizer)
    for x, y in job.batches(0, 1):
        job.loss(model, x, y).backward()
        optimizer.step()
        optimizer.zero_grad()
        if watcher.enough:
            break
    return replace(watcher.table(), name=name), optimizer

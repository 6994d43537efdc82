"""One slow worker among four: how long until `digits` is learnt, by plan. In the lab, where a host can be slow.

    python bench/stragglers.py --slow 2=0.25 [--rate 100mbit] [--plans "bsp; asp / ps; ..."] [--repeat 3]
    python bench/stragglers.py --fits 0.25         no slow host, but everyone stalls for four steps now and then

Prints seconds until rank 0's model has the target accuracy, steps and examples a second of all workers up to then,
and the ratio to the first plan (BSP with the same compressor) within one run. Rounds of all plans are interleaved.
Each run ends when rank 0 gets there: other workers are stopped where they are.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import laconic
from laconic.tasks import digits
from laconic.tasks.evaluate import evaluate
from laconic.tasks.shard import batches

COMPRESS = "ef(topk(0.01))"
PLANS = (
    f"bsp / ps / {COMPRESS}",
    f"ssp(3) / ps / {COMPRESS}",
    f"asp / ps / {COMPRESS}",
    f"backup(1) / ps / {COMPRESS}",
    f"local(8) / ps / {COMPRESS}",
    "asp / gossip(ring, adchoco(0.2)) / topk(0.1)",
    f"bsp / {COMPRESS}",
    f"asp / {COMPRESS}",
)
TARGET, BATCH, LR, CHECK_EVERY, LONGEST_S = 0.95, 64, 0.05, 5, 300.0


def work(plan: str, out: Path, fits: float, seed: int) -> None:
    """One worker: train until rank 0 is satisfied."""
    session = laconic.init()
    images, heldout = digits.load()
    torch.manual_seed(seed)
    model = digits.model()
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=0.9, weight_decay=5e-4)
    replica = laconic.distribute(model, optimizer, plan, seed=seed)
    order = batches(len(images), BATCH, seed=seed, rank=session.rank, world=session.world)
    chance, usual = random.Random(seed * 1000 + session.rank), 0.0  # noqa: S311  (not a secret)
    store = dist.distributed_c10d._get_default_store()  # noqa: SLF001  (there is no public way)
    spent_s, start, step = 0.0, time.perf_counter(), 0
    while time.perf_counter() - start < LONGEST_S:
        began = time.perf_counter()
        if fits and step > 3 and chance.random() < fits / 4:
            time.sleep(4 * usual)
        loss = _loss(model, images.take(next(order)))
        loss.backward()
        if usual == 0.0 or step < 3:
            usual = time.perf_counter() - began
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        store.set(f"stragglers/{session.rank}", str(step))
        if session.rank == 0 and step % CHECK_EVERY == 0:
            paused = time.perf_counter()
            accuracy = evaluate(model, heldout, batch=digits.HELD_OUT, rank=0, world=1).accuracy
            spent_s += time.perf_counter() - paused
            if accuracy >= TARGET:
                _report(plan, out, time.perf_counter() - start, spent_s, store, session.world, replica)
                os._exit(0)


def _loss(model: torch.nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    x, y = batch
    return torch.nn.functional.cross_entropy(model(x), y)


def _report(plan: str, out: Path, seconds: float, spent_s: float, store: Any, world: int, replica: Any) -> None:
    steps = [int(store.get(f"stragglers/{rank}")) for rank in range(world)]
    stats = replica.stats
    told = {
        "plan": plan,
        "seconds": seconds,
        "evaluating_s": spent_s,
        "steps": steps,
        "steps_per_s": sum(steps) / seconds,
        "examples_per_s": BATCH * sum(steps) / seconds,
        "staleness": stats.staleness,
        "dropped": stats.dropped_updates,
    }
    out.write_text(json.dumps(told))


def run_one(plan: str, args: argparse.Namespace, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "told.json"
        command = [sys.executable, "-m", "laconic.cli", "run", "--hosts", "4", "--rate", args.rate]
        command += ["--slow", args.slow] if args.slow else []
        command += ["--servers", "1"] if "/ ps" in plan else []
        command += [__file__, "--worker", str(out), "--plan", plan, "--fits", str(args.fits), "--seed", str(seed)]
        job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + LONGEST_S + 60
        while job.poll() is None and not out.exists() and time.monotonic() < end:
            time.sleep(0.1)
        if out.exists():
            time.sleep(0.2)
            told: dict[str, Any] = json.loads(out.read_text())
        else:
            told = {"plan": plan, "error": "did not get there"}
        if job.poll() is None:
            job.send_signal(signal.SIGTERM)
        try:
            _, said = job.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            job.kill()
            _, said = job.communicate()
        if "error" in told:
            told["error"] = (said.strip().splitlines() or ["did not get there"])[-1][:120]
        return told


def table(runs: list[dict[str, Any]]) -> str:
    by_plan: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        by_plan.setdefault(run["plan"], []).append(run)
    first = next(iter(by_plan))
    lines = ["| plan | seconds to target | times as fast as the first | steps/s | examples/s | staleness | dropped |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    for plan, told in by_plan.items():
        good = [t for t in told if "error" not in t]
        if not good:
            lines.append(f"| `{plan}` | {told[0]['error']} | | | | | |")
            continue
        pairs = zip(by_plan[first], told, strict=False)
        ratios = [a["seconds"] / b["seconds"] for a, b in pairs if "error" not in a and "error" not in b]
        seconds = sorted(t["seconds"] for t in good)
        spread = f"{statistics.median(seconds):.1f} ({seconds[0]:.1f} to {seconds[-1]:.1f})"
        middle = {k: statistics.median(t[k] for t in good) for k in ("steps_per_s", "examples_per_s")}
        stale = max((t["staleness"] for t in good if t["staleness"] is not None), default="")
        ratio = f"{statistics.median(ratios):.2f}" if ratios else ""
        dropped = sum(t["dropped"] for t in good)
        numbers = f"{middle['steps_per_s']:.1f} | {middle['examples_per_s']:.0f} | {stale} | {dropped}"
        lines.append(f"| `{plan}` | {spread} | {ratio} | {numbers} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--plan", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--slow", metavar="HOST=SHARE")
    parser.add_argument("--rate", default="100mbit")
    parser.add_argument("--fits", type=float, default=0.0, help="share of steps in which a worker stalls")
    parser.add_argument("--plans", help="plans with semicolons between them; ratios are to the first")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.worker is not None:
        work(args.plan, args.worker, args.fits, args.seed)
        return 0
    plans = [p.strip() for p in args.plans.split(";")] if args.plans else list(PLANS)
    runs = []
    for seed in range(args.repeat):
        for plan in plans:
            runs.append(run_one(plan, args, seed))
            print(runs[-1], file=sys.stderr, flush=True)
    if args.json:
        args.json.write_text(json.dumps(runs, indent=1))
    print(table(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())

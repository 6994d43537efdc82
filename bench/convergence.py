"""What do plans cost in accuracy? Many plans x seeds on `fashion` and `bytes`, virtual workers in one process.

    python bench/convergence.py                                # runs what is missing, prints both tables
    python bench/convergence.py --seconds 800 --task bytes     # stops after that long; start it again to go on
    python bench/convergence.py --table                        # prints what there is

Every finished run is a line of bench/results/convergence.jsonl; what is there is not run again. The workers are whole
replicas, see together.py; bytes are those their links count.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from together import Table, distribute, together
from torch import nn
from torch.nn import functional as F

from laconic import Plan
from laconic.core.units import bytes_text
from laconic.tasks import bytes as bytes_task
from laconic.tasks import fashion, fashion_mnist
from laconic.tasks.evaluate import Score, evaluate
from laconic.tasks.examples import Examples, spread
from laconic.tasks.gpt import GPT
from laconic.tasks.shard import batches
from laconic.tasks.warmup_cosine import warmup_cosine

OUT = Path(__file__).parent / "results" / "convergence.jsonl"
WORLD, SEEDS = 4, 3
BASE = "none"
PLANS = (
    BASE,
    "bf16",
    "fp8",
    "qsgd(bits=8)",
    "qsgd(bits=4)",
    "qsgd(bits=2)",
    "ef(qsgd(bits=2))",
    "natural",
    "terngrad",
    "ef(threelc)",
    "eden",
    "ef(sign)",
    "ef(onebit)",
    "signsgd",
    "ef(topk(0.01))",
    "ef(topk(0.001))",
    "topk(0.01)",
    "ef(topk(0.01) | qsgd(bits=4) | golomb)",
    "ef21(topk(0.01))",
    "ef(randomk(0.01))",
    "randomk(0.1)",
    "ef(blocktopk(0.01))",
    "ef(oktopk(0.01))",
    "ef(dct)",
    "ef(powersgd(1))",
    "ef(powersgd(4))",
    "local(8)",
)
MOMENTUM = ("dgc(0.01)", "dist_ef(sign)", "signum")  # AdamW has momentum of its own


@dataclass(frozen=True)
class Setting:
    """What must be equal for two runs to be compared; seeds and plans vary."""

    task: str
    model: str
    steps: int
    batch: int
    lr: float
    world: int = WORLD


@dataclass(frozen=True, eq=False)
class Study:
    """A task as it is trained here: smaller than the task's own defaults, so that hundreds of runs fit an hour."""

    setting: Setting
    data: Callable[[], tuple[Examples, Examples]]
    model: Callable[[], nn.Module]
    optimizer: Callable[[nn.Module, float], torch.optim.Optimizer]
    metric: Callable[[Score], float]
    plans: tuple[str, ...]


def _fashion() -> tuple[Examples, Examples]:
    train, test = fashion_mnist.load(None)
    return train, spread(test, 4000)


LAYERS, WIDTH, HEADS, CONTEXT = 2, 64, 2, 64
STUDIES = (
    Study(
        Setting("fashion", "cnn", 200, 8, 0.1),
        cache(_fashion),
        lambda: fashion.model("cnn"),
        lambda model, lr: torch.optim.SGD(model.parameters(), lr=lr, weight_decay=5e-4),
        lambda score: 100 * score.accuracy,
        (*PLANS, *MOMENTUM),
    ),
    Study(
        Setting("bytes", f"gpt layers={LAYERS} width={WIDTH} heads={HEADS} context={CONTEXT}", 200, 4, 3e-3),
        cache(lambda: bytes_task.windows(CONTEXT, 256)),
        lambda: GPT(LAYERS, WIDTH, HEADS, CONTEXT),
        bytes_task.adamw,
        lambda score: score.loss,
        PLANS,
    ),
)
EVAL_BATCH = 250


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--seconds", type=float, default=math.inf, help="begin no run after so many")
    options.add_argument("--task", choices=[s.setting.task for s in STUDIES], help="only this one")
    options.add_argument("--plans", nargs="+", help="only these")
    options.add_argument("--table", action="store_true", help="run nothing")
    chosen = options.parse_args()
    torch.set_num_threads(1)
    studies = [s for s in STUDIES if chosen.task in (None, s.setting.task)]
    until = time.monotonic() + chosen.seconds
    for seed in range(SEEDS if not chosen.table else 0):
        for study in studies:
            for plan in _missing(study, seed, chosen.plans):
                if time.monotonic() < until and plan in _missing(study, seed, None):  # or another has run it
                    _keep(run(study, plan, seed))
    print("\n\n".join(table(study) for study in studies))


def _missing(study: Study, seed: int, only: list[str] | None) -> list[str]:
    have = {r["plan"] for r in _records(study) if r["seed"] == seed}
    return [p for p in study.plans if p not in have and (not only or p in only)]


def run(study: Study, text: str, seed: int) -> dict[str, Any]:
    started, cpu = time.monotonic(), time.process_time()
    train, heldout = study.data()
    score, sent = together(WORLD, lambda rank, table: _worker(study, text, seed, rank, table, train, heldout))[0]
    record = {
        **asdict(study.setting),
        "plan": text,
        "seed": seed,
        "metric": study.metric(score),
        "loss": score.loss,
        "accuracy": score.accuracy,
        "bytes_per_step": sent,
        "cpu_s": round(time.process_time() - cpu, 1),
    }
    print(f"{study.setting.task} {text} {seed}: {record['metric']:.3f}, {bytes_text(sent)} a step, ", end="")
    print(f"{time.monotonic() - started:.0f} s", flush=True)
    return record


def _worker(
    study: Study, text: str, seed: int, rank: int, table: Table, train: Examples, heldout: Examples
) -> tuple[Score, float]:
    setting = study.setting
    torch.manual_seed(seed)
    model = study.model()
    optimizer = study.optimizer(model, setting.lr)
    replica = distribute(model, optimizer, Plan.parse(text), table, rank, seed)
    schedule = warmup_cosine(optimizer, setting.steps)
    order = batches(len(train), setting.batch, seed=seed, rank=rank, world=setting.world)
    for _ in range(setting.steps):
        x, y = train.take(next(order))
        F.cross_entropy(model(x).flatten(0, -2), y.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    replica.flush()
    score = evaluate(model, heldout, batch=EVAL_BATCH, rank=0, world=1) if rank == 0 else Score(math.nan, math.nan)
    return score, fmean(link.sent_bytes for link in table.links) / setting.steps


def _records(study: Study) -> list[dict[str, Any]]:
    lines = OUT.read_text().splitlines() if OUT.exists() else []
    same = asdict(study.setting)
    found = [r for r in map(json.loads, lines) if all(r[key] == value for key, value in same.items())]
    return list({(r["plan"], r["seed"]): r for r in found}.values())


def _keep(record: dict[str, Any]) -> None:
    OUT.parent.mkdir(parents=True, exist_ok=True)
    with OUT.open("a") as file:
        file.write(json.dumps(record) + "\n")


def table(study: Study) -> str:
    s, records = study.setting, _records(study)
    what = "test accuracy" if s.task == "fashion" else "held-out loss, nats a byte"
    head = (
        f"`{s.task}`: {s.model}, {s.world} workers x batch {s.batch}, {s.steps} steps, peak rate {s.lr:g}, mean "
        f"of {SEEDS} seeds (smallest..largest). Bytes: what one worker sends in a step, all messages and headers.\n\n"
        f"| plan | {what} | difference to `none` | bytes a step | fewer by | holds |\n|---|---|---|---|---|---|\n"
    )
    by_plan = {p: [r for r in records if r["plan"] == p] for p in study.plans}
    return head + "\n".join(_row(study, p, by_plan) for p in study.plans if by_plan[p] and by_plan[BASE])


def _row(study: Study, plan: str, by_plan: dict[str, list[dict[str, Any]]]) -> str:
    got, base = ([r["metric"] for r in by_plan[p]] for p in (plan, BASE))
    sent, dense = (fmean(r["bytes_per_step"] for r in by_plan[p]) for p in (plan, BASE))
    if study.setting.task == "fashion":
        gap = fmean(got) - fmean(base)
        holds, shown = gap >= -1.0, f"{gap:+.2f} points"
        metric = f"{fmean(got):.2f}% ({min(got):.2f}..{max(got):.2f})"
    else:
        gap = fmean(got) / fmean(base) - 1
        holds, shown = gap <= 0.02, f"{100 * gap:+.1f}%"
        metric = f"{fmean(got):.3f} ({min(got):.3f}..{max(got):.3f})"
    seeds = "" if len(got) == SEEDS else f" ({len(got)} of {SEEDS} seeds)"
    verdict = "" if plan == BASE else "yes" if holds else "NO"
    shown = "" if plan == BASE else shown
    return f"| `{plan}`{seeds} | {metric} | {shown} | {bytes_text(sent)} | {dense / sent:.1f}x | {verdict} |"


if __name__ == "__main__":
    main()

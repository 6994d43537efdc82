"""A thousandth of the bytes: sparse 2-bit rounds of 50 steps against an exchange in every step, on `bytes`.

    python bench/few_bytes.py                  # 3 seeds of each plan, 12 minutes of a core each
    python bench/few_bytes.py --steps 10000 --batch 4 --lr 3e-3 --seeds 0 --plans "local(50) / ef(sign)" silent

Virtual workers in one process (together.py), the same data in the same order for all plans of a seed. Every finished
run is a line of bench/results/few_bytes.jsonl; what is there is not run again. Prints the held-out loss after equal
samples beside the plain mean of gradients (what DDP computes), and the bytes a worker sends a step beside those of a
ring all-reduce of 32-bit gradients (what DDP sends).
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from convergence import BASE, STUDIES, WORLD, Study, run

from laconic.core.units import bytes_text
from laconic.tasks import bytes as bytes_task
from laconic.tasks.examples import Examples
from laconic.tasks.gpt import GPT

STEPS, BATCH, LR, SEEDS = 40_000, 16, 6e-3, (0, 1, 2)
LAYERS, WIDTH, CONTEXT = 1, 32, 32  # small, so that there is time for hundreds of rounds
RESULTS = Path(__file__).parent / "results" / "few_bytes.jsonl"
PLANS = ("local(50) / by_tensor(ef_decay(sparseloco, beta=0.95))",)


@cache
def _text() -> tuple[Examples, Examples]:
    return bytes_task.windows(CONTEXT, 256)


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--steps", type=int, default=STEPS)
    options.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    options.add_argument("--plans", nargs="+", default=PLANS)
    options.add_argument("--batch", type=int, default=BATCH, help="per worker")
    options.add_argument("--lr", type=float, default=LR, help="at its peak")
    options.add_argument("--alone", action="store_true", help="without the plain mean; prints no table")
    chosen = options.parse_args()
    torch.set_num_threads(1)
    (study,) = (s for s in STUDIES if s.setting.task == "bytes")
    model = f"gpt layers={LAYERS} width={WIDTH} context={CONTEXT}"
    setting = replace(study.setting, steps=chosen.steps, batch=chosen.batch, lr=chosen.lr, model=model)
    study = replace(study, setting=setting, model=lambda: GPT(LAYERS, WIDTH, 2, CONTEXT), data=_text)
    plans = (*([] if chosen.alone else [BASE]), *chosen.plans)
    rows = {plan: [finished(study, plan, seed) for seed in chosen.seeds] for plan in plans}
    if not chosen.alone:
        show(study, rows)


def finished(study: Study, plan: str, seed: int) -> dict[str, Any]:
    """That run, from the file or done now."""
    told = study.setting
    key = {"plan": plan, "seed": seed, **{name: getattr(told, name) for name in ("steps", "batch", "lr", "model")}}
    for line in RESULTS.read_text().splitlines() if RESULTS.exists() else []:
        past: dict[str, Any] = json.loads(line)
        if past["key"] == key:
            return past
    done = run(study, plan, seed)
    new = {"key": key, "metric": done["metric"], "bytes_per_step": done["bytes_per_step"]}
    with RESULTS.open("a") as file:
        file.write(json.dumps(new) + "\n")
    return new


def show(study: Study, rows: dict[str, list[dict[str, Any]]]) -> None:
    dense = 2 * (WORLD - 1) / WORLD * 4 * sum(p.numel() for p in study.model().parameters())
    told = study.setting
    print(
        f"\n`bytes`: {told.model}, {WORLD} workers x batch {told.batch}, {told.steps} steps, peak rate {told.lr:g}.\n"
    )
    print("| plan | held-out loss, by seed | to DDP, mean | bytes a step | fewer than DDP |\n|---|---|---|---|---|")
    base = fmean(r["metric"] for r in rows[BASE])
    for plan, runs in rows.items():
        losses, sent = [r["metric"] for r in runs], fmean(r["bytes_per_step"] for r in runs)
        text, ratio = ", ".join(f"{loss:.4f}" for loss in losses), fmean(losses) / base
        fewer = f"{dense / sent:,.0f}x" if sent else "all"
        print(f"| `{plan}` | {text} | {100 * (ratio - 1):+.2f}% | {bytes_text(sent)} | {fewer} |")


if __name__ == "__main__":
    main()

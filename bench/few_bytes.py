"""A thousandth of the bytes: sparse 2-bit rounds of 50 steps against an exchange in every step, on `bytes`.

    python bench/few_bytes.py                  # 3 seeds of each plan; about an hour of one core
    python bench/few_bytes.py --seeds 1 --steps 400 --plans "local(50)"

Virtual workers in one process (together.py), the same data in the same order for all plans of a seed. Prints the
held-out loss after equal samples beside the plain mean of gradients (what DDP computes), and the bytes a worker sends a
step beside those of a ring all-reduce of 32-bit gradients (what DDP sends).
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import cache
from statistics import fmean

import torch
from convergence import BASE, STUDIES, WORLD, run

from laconic.core.units import bytes_text
from laconic.tasks import bytes as bytes_task
from laconic.tasks.examples import Examples
from laconic.tasks.gpt import GPT

STEPS, SEEDS = 10_000, 3
LAYERS, WIDTH, CONTEXT = 1, 32, 32  # small, so that there is time for hundreds of rounds
PLANS = ("local(50) / ef_decay(sparseloco, beta=0.95)", "local(50) / by_tensor(ef_decay(sparseloco, beta=0.95))")


@cache
def _text() -> tuple[Examples, Examples]:
    return bytes_task.windows(CONTEXT, 256)


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--steps", type=int, default=STEPS)
    options.add_argument("--seeds", type=int, default=SEEDS)
    options.add_argument("--plans", nargs="+", default=PLANS)
    chosen = options.parse_args()
    torch.set_num_threads(1)
    (study,) = (s for s in STUDIES if s.setting.task == "bytes")
    setting = replace(study.setting, steps=chosen.steps, model=f"gpt layers={LAYERS} width={WIDTH} context={CONTEXT}")
    study = replace(study, setting=setting, model=lambda: GPT(LAYERS, WIDTH, 2, CONTEXT), data=_text)
    rows = {plan: [run(study, plan, seed) for seed in range(chosen.seeds)] for plan in (BASE, *chosen.plans)}
    dense = 2 * (WORLD - 1) / WORLD * 4 * sum(p.numel() for p in study.model().parameters())
    print(f"\n`bytes`: {study.setting.model}, {WORLD} workers x batch {study.setting.batch}, {chosen.steps} steps.\n")
    print("| plan | held-out loss, by seed | to DDP, mean | bytes a step | fewer than DDP |\n|---|---|---|---|---|")
    base = fmean(r["metric"] for r in rows[BASE])
    for plan, runs in rows.items():
        losses, sent = [r["metric"] for r in runs], fmean(r["bytes_per_step"] for r in runs)
        told, ratio = ", ".join(f"{loss:.4f}" for loss in losses), fmean(losses) / base
        print(f"| `{plan}` | {told} | {100 * (ratio - 1):+.2f}% | {bytes_text(sent)} | {dense / sent:,.0f}x |")


if __name__ == "__main__":
    main()

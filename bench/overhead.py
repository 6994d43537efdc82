"""What does Laconic itself cost? Step time of the plan `none` against torch's DDP, on loopback.

    python bench/overhead.py

Each repetition launches both, one right after the other and in alternating order, on the 10M `bytes` model with 4
processes. A launch gives its median step (warm-up left out), a repetition one ratio; printed are the median and the
spread of the ratios. Must hold: at most 1.05.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

from launch import run_task

LIMIT_S = 900.0


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--plan", default="none")
    options.add_argument("--against", default="ddp")
    options.add_argument("--repetitions", type=int, default=5)
    options.add_argument("--steps", type=int, default=25, help="per launch, the first 5 are not timed")
    options.add_argument("--batch", type=int, default=4, help="per worker")
    options.add_argument("--world", type=int, default=4)
    options.add_argument("--out", type=Path, help="append every launch's JSON line to this file")
    chosen = options.parse_args()
    ratios = [repetition(chosen, number) for number in range(1, chosen.repetitions + 1)]
    print(
        f"\n`python {' '.join(sys.argv)}`\n{chosen.plan} / {chosen.against}, median step: {median(ratios):.3f} "
        f"({min(ratios):.3f}..{max(ratios):.3f} in {len(ratios)} repetitions)"
    )


def repetition(chosen: argparse.Namespace, number: int) -> float:
    """Whoever runs first meets a machine in another state, so the order alternates."""
    order = [chosen.against, chosen.plan] if number % 2 else [chosen.plan, chosen.against]
    step_s = {plan: launch(chosen, plan, number)["step_s_median"] for plan in order}
    ratio: float = step_s[chosen.plan] / step_s[chosen.against]
    figures = ", ".join(f"{plan} {step_s[plan] * 1e3:.1f} ms" for plan in sorted(step_s))
    print(f"repetition {number}: {figures}, ratio {ratio:.3f}", flush=True)
    return ratio


def launch(chosen: argparse.Namespace, plan: str, number: int) -> dict[str, Any]:
    args = ["--steps", str(chosen.steps), "--batch", str(chosen.batch), "--eval-every", "0", "--eval-windows", "4"]
    title = f"[{number}/{chosen.repetitions}] {plan}"
    record = run_task("bytes", plan, chosen.world, args, title=title, limit_s=LIMIT_S)
    if chosen.out is not None:
        with chosen.out.open("a") as file:
            file.write(json.dumps(record) + "\n")
    return record


if __name__ == "__main__":
    main()

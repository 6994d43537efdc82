"""Does a plan cost accuracy? Trains `fashion` with several plans and seeds, same steps, and prints one table.

    python bench/fashion_table.py --out bench/results/fashion.jsonl

Every finished run is a line of OUT; runs that are already there are not repeated, so the script can be stopped and
started again. Differences are to the plan `none` of the same seeds, in points of test accuracy.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from launch import run_task

from laconic import Plan
from laconic.core.units import bytes_text
from laconic.tasks.fashion import variant

BASE = "none"
PLANS = (BASE, "ef(topk(0.01))", "ef(sign)", "qsgd(bits=4)", "ef(powersgd(4))", "local(8)")
ALLOWED_POINTS = 1.0
LIMIT_S = 3600.0


@dataclass(frozen=True)
class Setting:
    """What must be equal for two runs to be comparable; seeds and plans vary."""

    world: int
    steps: int
    batch: int
    model: str
    lr: float
    momentum: float

    def holds(self, record: dict[str, Any]) -> bool:
        same = all(record[key] == getattr(self, key) for key in ("world", "steps", "batch", "lr"))
        return same and record["task"] == "fashion" and record["model"] == variant(self.model, self.momentum)

    def args(self, seed: int) -> list[str]:
        sizes = ["--steps", str(self.steps), "--batch", str(self.batch), "--model", self.model]
        sizes += ["--lr", str(self.lr), "--momentum", str(self.momentum)]
        return [*sizes, "--seed", str(seed), "--eval-every", "0"]


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--out", type=Path, default=Path("bench/results/fashion.jsonl"))
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--steps", type=int, default=1500)
    options.add_argument("--batch", type=int, default=32, help="per worker")
    options.add_argument("--world", type=int, default=4)
    options.add_argument("--model", default="cnn")
    options.add_argument("--lr", type=float, default=0.2)
    options.add_argument("--momentum", type=float, default=0.0)
    options.add_argument("--plans", nargs="+", default=list(PLANS), help=f"besides {BASE}")
    chosen = options.parse_args()
    setting = Setting(chosen.world, chosen.steps, chosen.batch, chosen.model, chosen.lr, chosen.momentum)
    plans = [BASE, *(plan for plan in chosen.plans if plan != BASE)]
    records = collect(chosen.out, setting, plans, range(chosen.seeds))
    print(f"\n`python {' '.join(sys.argv)}`\n\n{table(records, plans, chosen.seeds, setting)}")


def collect(out: Path, setting: Setting, plans: Sequence[str], seeds: range) -> dict[tuple[str, int], dict[str, Any]]:
    """All records by (plan, seed); what is missing in the file is run and added to it."""
    out.parent.mkdir(parents=True, exist_ok=True)
    lines = out.read_text().splitlines() if out.exists() else []
    found = {(r["plan"], r["seed"]): r for r in map(json.loads, lines) if setting.holds(r)}
    records: dict[tuple[str, int], dict[str, Any]] = {}
    jobs = [(plan, seed) for seed in seeds for plan in plans]
    for number, (plan, seed) in enumerate(jobs, 1):
        record = found.get((str(Plan.parse(plan)), seed))
        if record is None:
            title = f"[{number}/{len(jobs)}] {plan} seed {seed}"
            record = run_task("fashion", plan, setting.world, setting.args(seed), title=title, limit_s=LIMIT_S)
            with out.open("a") as file:
                file.write(json.dumps(record) + "\n")
        records[plan, seed] = record
    return records


def table(records: dict[tuple[str, int], dict[str, Any]], plans: Sequence[str], seeds: int, setting: Setting) -> str:
    head = (
        f"Fashion-MNIST, {setting.model}, {setting.world} workers x batch {setting.batch}, {setting.steps} steps, "
        f"SGD lr {setting.lr:g} momentum {setting.momentum:g}, {seeds} seeds. "
        "Bytes are what one worker sends per step.\n\n"
        "| plan | test accuracy, mean (min..max) | difference to none | bytes per step | fewer by | holds |\n"
        "|---|---|---|---|---|---|\n"
    )
    return head + "\n".join(_row(records, plan, seeds) for plan in plans)


def _row(records: dict[tuple[str, int], dict[str, Any]], plan: str, seeds: int) -> str:
    def points(name: str) -> list[float]:
        return [100 * records[name, seed]["metrics"]["accuracy"] for seed in range(seeds)]

    def sent(name: str) -> float:
        return fmean(records[name, seed]["wire_bytes_per_step"] for seed in range(seeds))

    got = points(plan)
    gap = fmean(got) - fmean(points(BASE))
    verdict = "" if plan == BASE else "yes" if gap >= -ALLOWED_POINTS else "NO"
    accuracy = f"{fmean(got):.2f}% ({min(got):.2f}..{max(got):.2f})"
    traffic = f"{bytes_text(sent(plan))} | {sent(BASE) / sent(plan):.1f}x"
    return f"| `{plan}` | {accuracy} | {gap:+.2f} | {traffic} | {verdict} |"


if __name__ == "__main__":
    main()

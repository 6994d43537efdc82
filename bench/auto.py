"""`--plan auto` beside DDP: is it ever slower, and does it say so when DDP is the answer?

    python bench/auto.py              measures what is missing in bench/results/auto.jsonl; may be stopped and started
    python bench/auto.py --table      prints the table from what is there
    python bench/auto.py --lossy      the same of `auto(lossy)`, in bench/results/auto_lossy.jsonl

Each line is one `laconic compare TASK --hosts 4 --rate R --baselines ddp --plans auto`: what auto chose, the medians of
its and of DDP's runs (nine where steps are short, else three), by turns, with their spread, and what the models were
worth at the end. Where it chose DDP both rows are the same program, and their ratio is what the machine's moods make of
1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from laconic.cli.auto import AUTO, LOSSY
from laconic.compare.rows import NOT_CHOSEN
from laconic.core.units import seconds_text

SMALL = ("--layers", "2", "--width", "128", "--heads", "4", "--context", "64", "--batch", "4")  # 435 thousand weights
TASKS: dict[str, tuple[int, tuple[str, ...]]] = {"digits": (200, ()), "fashion": (60, ()), "bytes": (60, SMALL)}
SLOW = ("50mbit", "100mbit", "200mbit")  # where links, not cores, decide
RATES = (*SLOW, "500mbit", "1gbit", "")
OUT, LOSSY_OUT = Path("bench/results/auto.jsonl"), Path("bench/results/auto_lossy.jsonl")
HOSTS = 4
REPEAT, MORE, LONGER = 3, 9, 2  # runs; and where steps are short and the machine's moods show, also more steps
LIMIT_S = 3600
NEVER_BELOW = 0.97


@dataclass(frozen=True)
class Setting:
    task: str
    rate: str  # empty: not shaped

    @property
    def key(self) -> str:
        return f"{self.task} {self.rate or 'unshaped'}"

    def command(self, plan: str, out: Path) -> list[str]:
        steps, args = TASKS[self.task]
        repeat, steps = (REPEAT, steps) if self.rate in SLOW else (MORE, LONGER * steps)
        words = ["compare", self.task, "--hosts", str(HOSTS), *(["--rate", self.rate] if self.rate else [])]
        words += ["--steps", str(steps), "--repeat", str(repeat)]
        words += ["--baselines", "ddp", "--plans", plan]
        return [sys.executable, "-m", "laconic.cli", *words, "--json", str(out), *(["--", *args] if args else [])]


def settings() -> list[Setting]:
    return [Setting(task, rate) for rate in RATES for task in TASKS]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lossy", action="store_true", help="let auto choose plans that are not DDP's own mean")
    parser.add_argument("--table", action="store_true", help="measure nothing, print what is there")
    parser.add_argument("--only", help="settings whose name contains this, as in 'bytes'")
    args = parser.parse_args(argv)
    plan, out = (LOSSY, LOSSY_OUT) if args.lossy else (AUTO, OUT)
    done = {line["setting"]: line for line in read(out)}
    for setting in settings():
        if not args.table and setting.key not in done and (not args.only or args.only in setting.key):
            print(f"{setting.key} ...", file=sys.stderr, flush=True)
            done[setting.key] = measured(setting, plan)
            with out.open("a") as file:
                file.write(json.dumps(done[setting.key]) + "\n")
    print(table([done[s.key] for s in settings() if s.key in done]))


def read(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        yield from (json.loads(line) for line in path.read_text().splitlines() if line.strip())


def measured(setting: Setting, plan: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        done = subprocess.run(setting.command(plan, out), check=False, timeout=LIMIT_S, text=True, capture_output=True)
        if done.returncode != 0:
            raise SystemExit(f"{setting.key} failed.\n{done.stderr}\n{done.stdout}")
        rows = {row["plan"]: row for row in json.loads(out.read_text())["rows"]}
    name = next(text for text in rows if text.startswith(f"{plan} = "))
    if name.endswith(NOT_CHOSEN):
        raise SystemExit(f"{setting.key}: auto failed.\n{done.stderr}")
    return {
        "setting": setting.key,
        "chosen": name.removeprefix(f"{plan} = "),
        "ratio": rows[name]["ratio_to_ddp"],
        "ddp_s": rows["ddp"]["step_s"],
        "auto_s": rows[name]["step_s"],
        "metrics": {"ddp": rows["ddp"]["metrics"], "auto": rows[name]["metrics"]},
        "said": [line for line in done.stderr.splitlines() if "auto:" in line],
    }


def table(lines: Sequence[dict[str, Any]]) -> str:
    judged = all("metrics" in line for line in lines)
    heads = ["setting", "auto chose", "DDP's step", "auto's step", "times as fast as DDP"]
    heads += ["accuracy, DDP's and auto's"] if judged else []
    out = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for line in lines:
        cells = [line["setting"], f"`{line['chosen']}`", _step(line["ddp_s"]), _step(line["auto_s"])]
        cells += [f"{line['ratio']:.2f}", *([_accuracies(line)] if judged else [])]
        out.append(f"| {' | '.join(cells)} |")
    changed = [line for line in lines if line["chosen"] != "ddp"]
    if lines:
        same = [line["ratio"] for line in lines if line["chosen"] == "ddp"]
        out.append(f"\nAnother plan than DDP in {len(changed)} of {len(lines)} settings")
        if changed:
            worst, best = (of(line["ratio"] for line in changed) for of in (min, max))
            slow = sum(line["ratio"] < NEVER_BELOW for line in changed)
            out[-1] += f", {worst:.2f} to {best:.2f} times as fast; below {NEVER_BELOW} in {slow}"
        if same:
            out[-1] += (
                f". Where DDP stayed, the same program measured {min(same):.2f} to {max(same):.2f} times its own speed"
            )
        out[-1] += "."
    return "\n".join(out)


def _accuracies(line: dict[str, Any]) -> str:
    return ", ".join(f"{line['metrics'][row]['accuracy']:.1%}" for row in ("ddp", "auto"))


def _step(spread: dict[str, float]) -> str:
    median, low, high = (seconds_text(spread[key]) for key in ("median", "min", "max"))
    return f"{median} ({low} .. {high})"


if __name__ == "__main__":
    main()

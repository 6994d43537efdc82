"""Predicted beside measured: 30 settings in the lab that no number of the planner was fitted to.

    python bench/replay.py            measures what is missing in bench/results/replay.jsonl; may be stopped and started
    python bench/replay.py --table    prints the tables from what is there

A setting is a task, a number of hosts and a rate. In each the network is probed and the script profiled (laconic probe,
laconic profile), every plan is predicted from those two files alone, and then all are measured by turns (turns.py).
Run it on a machine with nothing else to do: other programs slow down what is measured and not what was
predicted. A fixed computation on all cores is timed before, between and after; a setting during which the machine's
speed changed by more than 10% is measured once more, and the steadier one counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import torch

from laconic.cli.machine import cores
from laconic.planner.network_file import NetworkTable, read_network
from laconic.planner.search import DDP, planner_of
from laconic.sim.model import read_model

TASKS = {"digits": "20", "fashion": "8"}  # steps of a turn; a step of `bytes` takes 12 s at 50 Mbit/s: hours
TURNS = "7"  # two ranks that meet on one core stay there for a turn or two: the median must outlast it
RATES = ("50mbit", "100mbit", "200mbit", "500mbit", "")
HOSTS = (2, 3, 4)
PLANS = ("none", "bf16", "qsgd(bits=4)", "ef(topk(0.01))", "ef(powersgd(2))", "ef(sign)", "local(4)", "allreduce(ring)")
LIMIT_S = 1200
STEADY, TRIES = 1.1, 2
NEAR_BEST = 1.05  # times the best measured step
TURNS_PY = str(Path(__file__).with_name("turns.py"))


@dataclass(frozen=True)
class Setting:
    task: str
    hosts: int
    rate: str  # empty: not shaped

    @property
    def key(self) -> str:
        return f"{self.task} {self.hosts} {self.rate or 'unshaped'}"

    @property
    def lab(self) -> list[str]:
        return ["--hosts", str(self.hosts), *(["--rate", self.rate] if self.rate else [])]


def settings() -> list[Setting]:
    return [Setting(task, hosts, rate) for task in TASKS for hosts in HOSTS for rate in RATES]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("bench/results/replay.jsonl"))
    parser.add_argument("--table", action="store_true", help="measure nothing, print what is there")
    parser.add_argument("--only", help="settings whose name contains this, as in 'digits 4'")
    args = parser.parse_args(argv)
    done = {line["setting"]: line for line in read(args.out)}
    if not args.table:
        with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(cores()) as pool:
            for setting in settings():
                if setting.key not in done and (not args.only or args.only in setting.key):
                    line = steadiest(setting, Path(folder), pool)
                    done[setting.key] = line
                    with args.out.open("a") as file:
                        file.write(json.dumps(line) + "\n")
    print(table([done[s.key] for s in settings() if s.key in done]))


def read(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        yield from (json.loads(line) for line in path.read_text().splitlines() if line.strip())


def steadiest(setting: Setting, folder: Path, pool: Executor) -> dict[str, Any]:
    tries: list[dict[str, Any]] = []
    while len(tries) < TRIES and (not tries or tries[-1]["drift"] > STEADY):
        print(f"{setting.key} ...", file=sys.stderr, flush=True)
        tries.append(measured(setting, folder, pool))
    return min(tries, key=lambda line: line["drift"])


def speed(pool: Executor) -> float:
    """Rounds of small matrix products on all cores in two seconds."""
    return sum(pool.map(_rounds, range(cores())))


def _rounds(seed: int) -> int:
    torch.set_num_threads(1)
    a, x = torch.randn(64, 64, generator=torch.Generator().manual_seed(seed)), torch.ones(1 << 20)
    count, until = 0, time.perf_counter() + 2.0
    while time.perf_counter() < until:
        for _ in range(20):
            a = torch.tanh(0.01 * a @ a)
        x.mul_(1.0)
        count += 1
    return count


def measured(setting: Setting, folder: Path, pool: Executor) -> dict[str, Any]:
    model, network, out = folder / "model.json", folder / "network.json", folder / "out.json"
    codings = folder / "codings.json"
    speeds = [speed(pool)]
    loop = [TURNS_PY, "-n", str(setting.hosts), "-o", str(model), "--", setting.task]
    loop += ["--plans", "silent", "--turns", "20"]
    verb("profile", *loop)  # the very loop that is measured afterwards, and just before: machines drift
    verb("probe", *setting.lab, "-o", str(network), *(["--quick"] if codings.exists() else []))
    found = read_network(network)
    found = _with_codings(found, codings)
    planner = planner_of(read_model(model), found)
    predicted = {text: p.step.seconds for text in (DDP, *PLANS) if (p := planner.predict(text, setting.hosts))}
    speeds.append(speed(pool))
    told = ["--plans", "; ".join((DDP, *PLANS)), "--steps", TASKS[setting.task], "--turns", TURNS, "--json", str(out)]
    verb("run", *setting.lab, TURNS_PY, setting.task, *told)
    seen = {plan: row["median_s"] for plan, row in json.loads(out.read_text())["plans"].items()}
    speeds.append(speed(pool))
    drift = max(speeds) / min(speeds)
    return {"setting": setting.key, "drift": drift, "predicted": predicted, "measured": seen}


def _with_codings(found: NetworkTable, path: Path) -> NetworkTable:
    """Compressors are timed once: they do not depend on the network."""
    if found.codings:
        path.write_text(found.to_json())
        return found
    return replace(found, codings=read_network(path).codings)


def verb(*words: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "laconic.cli", *words], check=True, timeout=LIMIT_S, stdout=subprocess.DEVNULL
    )


def table(lines: Sequence[dict[str, Any]]) -> str:
    """A line a setting: predicted / measured of every plan, and what the first choice by prediction really takes."""
    plans = (DDP, *PLANS)
    out = ["| setting | DDP's step | " + " | ".join(f"`{p}`" for p in plans) + " | first choice | of the best |"]
    out.append("|---" * (len(plans) + 4) + "|")
    ratios: list[float] = []
    good = 0
    for line in lines:
        seen, told = line["measured"], line["predicted"]
        row = [told[p] / seen[p] for p in plans]
        first = min(plans, key=told.__getitem__)
        slower = seen[first] / min(seen.values())
        good += slower <= NEAR_BEST
        ratios += row
        cells = [
            line["setting"],
            f"{1e3 * seen[DDP]:.1f} ms",
            *(f"{r:.2f}" for r in row),
            f"`{first}`",
            f"{slower:.2f}",
        ]
        out.append(f"| {' | '.join(cells)} |")
    if ratios:
        off = sorted(abs(r - 1) for r in ratios)
        out.append(
            f"\n{len(ratios)} predictions in {len(lines)} settings: off by {median(off):.1%} at the median, "
            f"{off[-1]:.1%} at worst; the first choice is within 5% of the best measured in {good} of {len(lines)}."
        )
    return "\n".join(out)


if __name__ == "__main__":
    main()

"""Where the CPU time of a step goes, by thread and by part: what a plan costs beside the model's own work.

    laconic run --hosts 4 --rate 100mbit bench/step_cost.py "ef(sign)"

Ranks that share cores are as fast as their CPU work allows, whatever the network does. Printed for rank 0, in
milliseconds of CPU a step of ResNet-18 at batch 8: parts of the replica and its lanes (some contain others), then every
thread of the process by its name.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

import laconic
from laconic.buckets import Bucket
from laconic.drive import lanes
from laconic.drive.torch_dist import TorchDist
from laconic.replica import Replica
from laconic.tasks import fashion
from laconic.tasks.start import start

WARMUP_STEPS = 4
PARTS = (
    (Bucket, "take", "copy gradients into buckets"),
    (Bucket, "bad", "look for NaN in means"),
    (lanes, "_run", "lanes: whole exchanges"),
    (TorchDist, "_issue", "lanes: hand over to the backend"),
    (Replica, "_end_of_backward", "end of backward"),
)


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("plan")
    options.add_argument("--steps", type=int, default=30)
    chosen = options.parse_args()
    session = laconic.init()
    spent: Counter[str] = Counter()
    for owner, name, label in PARTS:
        _time(owner, name, label, spent)
    torch.manual_seed(0)
    model = fashion.model("resnet18")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    laconic.distribute(model, optimizer, chosen.plan)
    x, y = torch.randn(8, 1, 28, 28), torch.randint(0, 10, (8,))
    before: dict[str, float] = {}
    for step in range(WARMUP_STEPS + chosen.steps):
        if step == WARMUP_STEPS:
            spent.clear()
            before, started = _by_thread(), time.perf_counter()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    if session.rank == 0:
        print(f"{chosen.plan}: {1e3 * (time.perf_counter() - started) / chosen.steps:.0f} ms a step")
        for label, seconds in spent.most_common():
            print(f"  {1e3 * seconds / chosen.steps:7.1f} ms  {label}")
        for thread, seconds in sorted(_by_thread().items()):
            print(f"  {1e3 * (seconds - before.get(thread, 0.0)) / chosen.steps:7.1f} ms  thread {thread}")


def _time(owner: Any, name: str, label: str, spent: Counter[str]) -> None:
    inner, lock = getattr(owner, name), threading.Lock()

    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.thread_time()
        try:
            return inner(*args, **kwargs)
        finally:
            with lock:
                spent[label] += time.thread_time() - start

    setattr(owner, name, timed)


def _by_thread() -> dict[str, float]:
    """CPU seconds so far, user and system, summed over threads of one name."""
    out: Counter[str] = Counter()
    for task in Path("/proc/self/task").iterdir():
        name, _, rest = (task / "stat").read_text().partition("(")[2].rpartition(")")
        fields = rest.split()
        out[name] += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return dict(out)


if __name__ == "__main__":
    start(main)

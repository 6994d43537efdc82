"""What the lab's links cost the cores that the ranks compute on: an all-reduce alone, its time and who was busy.

    laconic run --hosts 4 --rate 100mbit bench/lab_cost.py

Emulated links are made of timers and packets that this machine's own cores handle. While nothing else runs, what is not
idle during an all-reduce is the price of the network; training that overlaps with it gets only the rest.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median

import torch
import torch.distributed as dist

import laconic
from laconic.core.units import bytes_text, seconds_text
from laconic.tasks.start import start

REPEAT = 10


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    options.add_argument("--elements", type=int, default=1_500_000)
    chosen = options.parse_args()
    session = laconic.init()
    values = torch.randn(chosen.elements)
    dist.all_reduce(values)
    seconds, before = [], _ticks()
    for _ in range(REPEAT):
        dist.barrier()
        began = time.perf_counter()
        dist.all_reduce(values)
        seconds.append(time.perf_counter() - began)
    spent = [after - earlier for earlier, after in zip(before, _ticks(), strict=True)]
    if session.rank == 0:
        user, nice, system, idle, wait, hard, soft = (share / sum(spent) for share in spent)
        size = bytes_text(4 * chosen.elements)
        print(f"all-reduce of {size}: {seconds_text(median(seconds))}; cores: {idle + wait:.0%} idle, ", end="")
        print(f"{hard + soft:.0%} interrupts, {system:.0%} system, {user + nice:.0%} user")


def _ticks() -> list[int]:
    """user, nice, system, idle, iowait, irq and softirq of all cores, as the kernel counts them."""
    return [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:8]]


if __name__ == "__main__":
    start(main)

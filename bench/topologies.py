"""How long does a dense bucket take under each topology? Ratios to the backend's own all-reduce, within one run.

    laconic run --hosts 4 --rate 100mbit bench/topologies.py
    laconic run --hosts 4 --rate 100mbit bench/topologies.py --plans "ps(colocated)" "gossip(one_peer_exp)" --mib 4

Every plan has a model of its own: one parameter of so many MiB, whose gradient costs next to nothing, so a step is
its exchange. Plans take turns, in an order that moves on by one each time, so that whatever else the machine does meets
all alike; each time gives a ratio to the first plan's step beside it. Printed: the median ratio with its spread, bytes
a step and worker as counted and, in a lab, on the interface, and messages a step. Must hold on 4 hosts at 100 Mbit/s:
allreduce(ring) at most 1.10 of allreduce, ps(colocated) 1.15.
"""

from __future__ import annotations

import argparse
import sys
import time
from statistics import median

import torch
import torch.distributed as dist
from torch import nn

import laconic
from laconic.core.units import bytes_text
from laconic.tasks.start import start
from laconic.topology.programs import NAMES

USUAL = ["allreduce(ring)", *(f"allreduce({n})" for n in NAMES if n != "ring"), "allreduce(auto)"]


class OneBucket(nn.Module):
    def __init__(self, mib: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(int(mib * 2**18)))

    def forward(self, slope: torch.Tensor) -> torch.Tensor:
        return (self.weight * slope).sum()


class Trainee:
    """A plan with the model it trains and what its steps took."""

    def __init__(self, plan: str, mib: float) -> None:
        self.plan = plan
        self.model = OneBucket(mib)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.replica = laconic.distribute(self.model, self.optimizer, plan)
        self.seconds: list[float] = []
        self.sent: list[int] = []
        self.on_wire: list[int] = []
        self.messages: list[int] = []

    def step(self) -> None:
        meet()
        before, messages = self.replica.stats, self.replica.link.messages
        started = time.perf_counter()
        self.model(torch.ones(())).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        mine = torch.tensor([time.perf_counter() - started], dtype=torch.float64)
        after = self.replica.stats
        if dist.is_initialized():
            dist.all_reduce(mine, dist.ReduceOp.MAX)  # a step is over when it is over everywhere
        self.seconds.append(float(mine))
        self.sent.append(after.wire_bytes - before.wire_bytes)
        self.messages.append(self.replica.link.messages - messages)
        if after.tx_bytes is not None and before.tx_bytes is not None:
            self.on_wire.append(after.tx_bytes - before.tx_bytes)

    def forget(self) -> None:
        for kept in (self.seconds, self.sent, self.on_wire, self.messages):
            kept.clear()


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--plans", nargs="+", default=USUAL)
    options.add_argument("--against", default="allreduce")
    options.add_argument("--mib", type=float, default=8.0, help="of the bucket")
    options.add_argument("--repetitions", type=int, default=7)
    chosen = options.parse_args()
    session = laconic.init()
    trainees = [Trainee(plan, chosen.mib) for plan in (chosen.against, *chosen.plans)]
    for number in range(-1, chosen.repetitions):
        for i in range(len(trainees)):
            trainees[(i + number) % len(trainees)].step()
        if number < 0:
            for trainee in trainees:
                trainee.forget()
        elif session.rank == 0:
            print(f"repetition {number + 1} of {chosen.repetitions}", file=sys.stderr, flush=True)
    if session.rank == 0:
        print(f"{session.world} workers, a bucket of {chosen.mib:g} MiB, {chosen.repetitions} repetitions; worker 0\n")
        print("| plan | median step | ratio to the first | spread | bytes counted | on the interface | messages |")
        print("|---|---|---|---|---|---|---|")
        for trainee in trainees:
            print(row(trainee, trainees[0]))


def row(trainee: Trainee, first: Trainee) -> str:
    ratios = [a / b for a, b in zip(trainee.seconds, first.seconds, strict=True)]
    wire = bytes_text(median(trainee.on_wire)) if trainee.on_wire else "-"
    figures = [
        f"`{trainee.plan}`",
        f"{median(trainee.seconds) * 1e3:.1f} ms",
        f"{median(ratios):.3f}",
        f"{min(ratios):.3f}..{max(ratios):.3f}",
        bytes_text(median(trainee.sent)),
        wire,
        f"{median(trainee.messages):g}",
    ]
    return f"| {' | '.join(figures)} |"


def meet() -> None:
    """Nobody is still busy with the last step."""
    if dist.is_initialized():
        dist.barrier()


if __name__ == "__main__":
    start(main)

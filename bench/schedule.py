"""What does the order of messages buy? Plans take turns on two models; ratios to torch's DDP within one run.

    laconic run --hosts 4 --rate 200mbit bench/schedule.py
    laconic run --hosts 4 --rate 200mbit bench/schedule.py --models cnn --plans planned crossed "qsgd(4) / crossed"
    --steps 20

`bytes` is a GPT of 10 million parameters, `cnn` a ResNet-like network of many small tensors, both on random inputs.
Every plan trains a model of its own. First all run alone until measured schedules have settled (their decisions are
printed); then plans take turns, a few steps each, in an order that moves on by one. Printed: the median step, the
median ratio of DDP's step beside it to the plan's (above 1: faster than DDP) with its spread, time the training
thread waited, CPU time of rank 0 with its messages, and at first how much of DDP's step is communication: `silent` is
the floor. On two shared cores DDP beside itself spreads by several percent: 15 turns tell 1%, 5 turns 4%.

Must hold on 4 hosts: at the rate where communication is about as long as backward, planned and crossed >= 1.10; with
qsgd(4) >= 1.5 of ddp+bf16 where that is half communication; at 50, 100, 200, 500, 1000 mbit and unshaped none below
0.97.
"""

from __future__ import annotations

import argparse
import time
from statistics import median

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F
from turns import SETTLING

import laconic
from laconic.core.units import seconds_text
from laconic.integrations.ddp_baseline import DdpReplica
from laconic.tasks.gpt import GPT
from laconic.tasks.start import start

BASE, FLOOR = "ddp", "silent"
PLANS = [
    "ddp+bf16",
    "fused",
    "planned",
    "mgwfbp",
    "priority",
    "crossed",
    "qsgd(bits=4) / fused(chunk='2MiB')",
    "qsgd(bits=4) / crossed",
]


class ManySmall(nn.Module):
    """Forty blocks of a convolution, a norm and a bias: 164 tensors, most of them small."""

    def __init__(self, width: int = 64, blocks: int = 40) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        layers = [
            nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(8, width), nn.ReLU())
            for _ in range(blocks)
        ]
        self.blocks = nn.ModuleList(layers)
        self.head = nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = x + block(x)
        out: Tensor = self.head(x.mean((2, 3)))
        return out


def gpt(batch: int) -> tuple[nn.Module, Tensor, Tensor]:
    tokens = torch.randint(0, 256, (batch, 128))
    return GPT(8, 320, 5, 128), tokens, tokens.roll(-1, 1).flatten()


def cnn(batch: int) -> tuple[nn.Module, Tensor, Tensor]:
    return ManySmall(), torch.randn(batch, 3, 16, 16), torch.randint(0, 10, (batch,))


MODELS = {"bytes": gpt, "cnn": cnn}


class Trainee:
    def __init__(self, plan: str, model: str, batch: int) -> None:
        torch.manual_seed(0)
        self.plan = plan
        self.model, self.x, self.y = MODELS[model](batch)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.replica = laconic.distribute(self.model, self.optimizer, plan)
        self.seconds: list[float] = []
        self.waited: list[float] = []
        self.cpu: list[float] = []

    def run(self, steps: int, *, keep: bool) -> None:
        dist.barrier()
        waited = self.replica.stats.exposed_wait_s or 0.0
        for number in range(steps + 1):
            if number == 1:
                began, waited = time.perf_counter(), self.replica.stats.exposed_wait_s or 0.0
                worked = time.process_time()
            F.cross_entropy(self.model(self.x).flatten(0, -2), self.y).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        if keep:
            self.seconds.append((time.perf_counter() - began) / steps)
            self.cpu.append((time.process_time() - worked) / steps)
            self.waited.append(((self.replica.stats.exposed_wait_s or 0.0) - waited) / steps)
        if not isinstance(self.replica, DdpReplica) and self.replica.crossing is not None:
            self.replica.flush()  # not counted: what the step before the first counted one left under way was


def main() -> None:
    parsed = arguments()
    session = laconic.init()
    for model in parsed.models:
        trainees = [Trainee(plan, model, parsed.batch) for plan in (BASE, *parsed.plans, FLOOR)]
        for trainee in trainees:
            measured = not isinstance(trainee.replica, DdpReplica) and trainee.replica.pilot is not None
            trainee.run(SETTLING if measured else 2, keep=False)
        for turn in range(parsed.turns):
            for k in range(len(trainees)):
                trainees[(turn + k) % len(trainees)].run(parsed.steps, keep=True)
        if session.rank == 0:
            show(model, trainees)
        for trainee in trainees:
            if not isinstance(trainee.replica, DdpReplica):
                trainee.replica.close()


def show(model: str, trainees: list[Trainee]) -> None:
    base, floor = trainees[0], trainees[-1]
    share = 1 - median(floor.seconds) / median(base.seconds)
    print(
        f"{model}: {sum(p.numel() for p in base.model.parameters()):,} parameters, "
        f"{100 * share:.0f} % of a step of ddp is communication"
    )
    width = max(len(t.plan) for t in trainees)
    for t in trainees:
        ratios = sorted(b / s for b, s in zip(base.seconds, t.seconds, strict=True))
        print(
            f"  {t.plan:{width}}  {seconds_text(median(t.seconds)):>8}  x ddp {median(ratios):.3f} "
            f"[{ratios[0]:.3f} .. {ratios[-1]:.3f}]  waited {seconds_text(median(t.waited)):>8}  "
            f"cpu {seconds_text(median(t.cpu)):>8}"
        )
    for t in trainees:
        for decision in [] if isinstance(t.replica, DdpReplica) else t.replica.decisions:
            print(f"    {decision}")


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    options.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    options.add_argument("--plans", nargs="+", default=PLANS)
    options.add_argument("--batch", type=int, default=4)
    options.add_argument("--steps", type=int, default=6, help="of a turn")
    options.add_argument("--turns", type=int, default=5)
    return options.parse_args()


if __name__ == "__main__":
    start(main)

"""Other systems beside ours: the same model, data, processes and links, step by step in turns, in one run.

    laconic run --hosts 4 --rate 100mbit bench/peers.py --peer-path ~/grace --peer-path ~/powersgd

Torch's DDP and its hooks are always there. GRACE (`grace_dl.dist`), epfml's PowerSGD (`powersgd`), torchft, hivemind
and Horovod join where they can be imported, from the environment or from a checkout given by --peer-path. What is
missing, or fails, is named with its reason. No code of theirs is part of this project.

Each row trains its own copy of the model; rows take turns step by step, so that whatever else the machine does meets
them alike; a step ends when the last rank has taken it. Printed: the median step with its spread, the ratio to DDP
(above 1: faster), bytes per step as the interface counted them on rank 0 (in a lab), CPU seconds of one rank.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F

import laconic
from laconic.core.units import bytes_text
from laconic.net.interface import transmitted_bytes
from laconic.tasks import bytes as text_task
from laconic.tasks import fashion, fashion_mnist
from laconic.tasks.gpt import GPT
from laconic.tasks.shard import batches
from laconic.tasks.start import start

OURS = "silent; none; fp16; qsgd(bits=4); ef(topk(0.01)); ef(powersgd(4))"
TORCH = ("ddp", "ddp+fp16", "ddp+bf16", "ddp+powersgd(4)", "ddp+powersgd(1)")
WARMUP_STEPS = 3

Step = Callable[[], None]  # after backward: exchange and take the optimizer's step
Attach = Callable[[nn.Module, torch.optim.Optimizer], Step]


def by_laconic(plan: str) -> Attach:
    """Our plans, and torch's DDP with its hooks, which our tests hold against plain DDP."""

    def attach(model: nn.Module, optimizer: torch.optim.Optimizer) -> Step:
        laconic.distribute(model, optimizer, plan)
        return optimizer.step

    return attach


def by_grace(**params: Any) -> Attach:
    """As in GRACE's own examples: one call a tensor after backward."""

    def attach(model: nn.Module, optimizer: torch.optim.Optimizer) -> Step:
        helper = importlib.import_module("grace_dl.dist.helper")
        grace = helper.grace_from_params({**params, "world_size": dist.get_world_size()})

        def step() -> None:
            for name, p in model.named_parameters():
                p.grad.data = grace.step(p.grad.data, name).view_as(p)
            optimizer.step()

        return step

    return attach


def by_epfml(rank: int) -> Attach:
    def attach(model: nn.Module, optimizer: torch.optim.Optimizer) -> Step:
        theirs = importlib.import_module("powersgd")
        config = theirs.Config(
            rank=rank, min_compression_rate=2, num_iters_per_step=1, start_compressing_after_num_steps=0
        )
        aggregator = theirs.PowerSGD(list(model.parameters()), config=config)
        return lambda: theirs.optimizer_step(optimizer, aggregator)

    return attach


def by_horovod() -> Attach:
    def attach(model: nn.Module, optimizer: torch.optim.Optimizer) -> Step:
        hvd = importlib.import_module("horovod.torch")
        hvd.init()
        wrapped = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
        return wrapped.step

    return attach


def by_torchft() -> Attach:
    """Every rank is a replica group of its own, with a manager; rank 0 also holds the lighthouse."""

    def attach(model: nn.Module, optimizer: torch.optim.Optimizer) -> Step:
        torchft = importlib.import_module("torchft")
        lighthouse, address = None, [""]
        if dist.get_rank() == 0:
            server = importlib.import_module("torchft.coordination").LighthouseServer
            lighthouse = server(bind="[::]:0", min_replicas=dist.get_world_size())
            address = [lighthouse.address().rsplit(":", 1)[1]]
        dist.broadcast_object_list(address, 0)
        where = f"http://{os.environ['MASTER_ADDR']}:{address[0]}"
        address_here = _own_address()
        store = dist.TCPStore(address_here, 0, is_master=True, wait_for_workers=False)
        manager = torchft.Manager(
            pg=torchft.ProcessGroupGloo(),
            load_state_dict=lambda _: None,
            state_dict=dict,
            min_replica_size=dist.get_world_size(),
            lighthouse_addr=where,
            replica_id=f"rank{dist.get_rank()}",
            rank=0,
            world_size=1,
            store_addr=address_here,
            store_port=store.port,
            hostname=address_here,
            use_async_quorum=False,
            init_sync=False,  # all copies start equal
        )

        def step() -> None:
            manager.start_quorum()
            works = [manager.allreduce(p.grad) for p in model.parameters()]
            for work in works:
                work.wait()
            if manager.should_commit():
                optimizer.step()

        step.keeps = (lighthouse, store, manager)  # type: ignore[attr-defined]  # alive as long as the row
        return step

    return attach


def by_hivemind() -> Attach:
    """All gradients as one averaged tensor list, all peers in one group; averages travel over libp2p, not gloo."""

    def attach(model: nn.Module, optimizer: torch.optim.Optimizer) -> Step:
        hivemind = importlib.import_module("hivemind")
        here = [f"/ip4/{_own_address()}/tcp/0"]
        dht = hivemind.DHT(host_maddrs=here, start=True) if dist.get_rank() == 0 else None
        meeting = [[str(a) for a in dht.get_visible_maddrs()] if dht else []]
        dist.broadcast_object_list(meeting, 0)
        dht = dht or hivemind.DHT(host_maddrs=here, initial_peers=meeting[0], start=True)
        averager = hivemind.averaging.DecentralizedAverager(
            [torch.zeros_like(p) for p in model.parameters()],
            dht,
            prefix="laconic_bench",
            target_group_size=dist.get_world_size(),
            min_matchmaking_time=1.0,
            start=True,
        )

        def step() -> None:
            with averager.get_tensors() as shared:
                torch._foreach_copy_(list(shared), [p.grad for p in model.parameters()])
            found = averager.step(timeout=120)
            if found is None or len(found) != dist.get_world_size():
                raise RuntimeError(f"a group of {len(found or ())} of {dist.get_world_size()} peers")
            with averager.get_tensors() as shared:
                torch._foreach_copy_([p.grad for p in model.parameters()], list(shared))
            optimizer.step()

        step.keeps = (dht, averager)  # type: ignore[attr-defined]  # alive as long as the row
        return step

    return attach


def _own_address() -> str:
    """The address of the interface that leads to rank 0; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((os.environ["MASTER_ADDR"], 9))
        return str(probe.getsockname()[0])


PEERS: dict[str, tuple[str, Attach]] = {
    "GRACE top-k 1% + residual": (
        "grace_dl.dist",
        by_grace(compressor="topk", compress_ratio=0.01, memory="residual", communicator="allgather"),
    ),
    "GRACE QSGD 127": ("grace_dl.dist", by_grace(compressor="qsgd", quantum_num=127, communicator="allgather")),
    "epfml PowerSGD rank 4": ("powersgd", by_epfml(4)),
    "torchft": ("torchft", by_torchft()),
    "hivemind averager": ("hivemind", by_hivemind()),
    "Horovod": ("horovod.torch", by_horovod()),
}


class Row:
    def __init__(self, name: str, attach: Attach, model: nn.Module, lr: float) -> None:
        self.name, self.model = name, model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.step = attach(model, self.optimizer)
        self.seconds: list[float] = []
        self.cpu_s: list[float] = []
        self.sent: list[int] = []

    def train(self, x: Tensor, y: Tensor, interface: str | None) -> None:
        before, cpu, started = _sent(interface), time.process_time(), time.perf_counter()
        F.cross_entropy(self.model(x).flatten(0, -2), y.flatten()).backward()
        self.step()
        self.optimizer.zero_grad()
        self.cpu_s.append(time.process_time() - cpu)
        dist.barrier()  # a step ends when all ranks have taken it: rows that do not talk would look too fast on one
        self.seconds.append(time.perf_counter() - started)
        self.sent.append(_sent(interface) - before)

    def record(self, interface: str | None) -> dict[str, Any]:
        timed = self.seconds[WARMUP_STEPS:]
        return {
            "peer": self.name,
            "step_s": {"median": median(timed), "mean": fmean(timed), "min": min(timed), "max": max(timed)},
            "tx_bytes_per_step": fmean(self.sent[WARMUP_STEPS:]) if interface else None,
            "cpu_s": fmean(self.cpu_s[WARMUP_STEPS:]),
        }


def _sent(interface: str | None) -> int:
    return transmitted_bytes(interface) if interface else 0


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--model", choices=("resnet18", "bytes"), default="resnet18")
    options.add_argument("--plans", default=OURS, help="ours, separated by ';' (default: %(default)s)")
    options.add_argument("--peer-path", action="append", default=[], metavar="DIR", help="a checkout to import from")
    options.add_argument(
        "--only", default="", help="rows whose name contains one of these, or is one (=ddp), separated by ';'"
    )
    options.add_argument("--steps", type=int, default=10, help="timed, of each row")
    options.add_argument("--batch", type=int, default=8, help="per worker")
    options.add_argument("--lr", type=float, default=0.01)
    options.add_argument("--json", type=Path, metavar="OUT")
    chosen = options.parse_args()
    sys.path += chosen.peer_path
    session = laconic.init()
    if not dist.is_initialized():
        sys.exit(
            "Peers are compared on several processes: laconic run -n 4 bench/peers.py, or --hosts 4 --rate 100mbit."
        )
    say = partial(_say, session.rank)
    rows = list(_rows(chosen, say))
    if not rows:
        sys.exit(f"--only {chosen.only!r}: there is no such row.")
    data = _data(chosen, session.rank, session.world)
    for number in range(WARMUP_STEPS + chosen.steps):
        x, y = next(data)
        at = number % len(rows)
        for row in rows[at:] + rows[:at]:
            row.train(x, y, session.interface)
        say(f"step {number + 1} of {WARMUP_STEPS + chosen.steps}")
    if session.rank == 0:
        records = [row.record(session.interface) for row in rows]
        print(_table(records))
        if chosen.json:
            chosen.json.write_text(json.dumps({"model": chosen.model, "batch": chosen.batch, "rows": records}) + "\n")
    dist.barrier()


def _rows(chosen: argparse.Namespace, say: Callable[[str], None]) -> Iterator[Row]:
    ours = [plan.strip() for plan in chosen.plans.split(";") if plan.strip()]
    wanted: dict[str, tuple[str, Attach]] = {name: ("torch", by_laconic(name)) for name in (*TORCH, *ours)} | PEERS
    only = [word.strip() for word in chosen.only.split(";") if word.strip()]
    for name, (module, attach) in wanted.items():
        if only and not any(name == word[1:] if word.startswith("=") else word in name for word in only):
            continue
        try:
            importlib.import_module(module)
            row = Row(name, attach, _model(chosen.model), chosen.lr)
        except Exception as error:  # noqa: BLE001  (a peer may fail in any way; the others are still measured)
            say(f"left out: {name} ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})")
            continue
        yield row


def _say(rank: int, text: str) -> None:
    if rank == 0:
        print(text, file=sys.stderr, flush=True)


def _model(name: str) -> nn.Module:
    torch.manual_seed(0)
    if name == "resnet18":
        return fashion.model("resnet18")
    return GPT(text_task.LAYERS, text_task.WIDTH, text_task.HEADS, text_task.CONTEXT)


def _data(chosen: argparse.Namespace, rank: int, world: int) -> Iterator[tuple[Tensor, Tensor]]:
    if chosen.model == "resnet18":
        examples, _ = fashion_mnist.load(None)
    else:
        examples, _ = text_task.windows(text_task.CONTEXT, eval_windows=1)
    for indices in batches(len(examples), chosen.batch, rank=rank, world=world, seed=0):
        yield examples.take(indices)


def _table(records: list[dict[str, Any]]) -> str:
    base = next((r["step_s"]["mean"] for r in records if r["peer"] == "ddp"), None)
    lines = [
        "| peer | step, median (min..max) | mean | ratio to DDP | sent per step | CPU per rank |",
        "|---|---|---|---|---|---|",
    ]
    for r in records:
        s, sent = r["step_s"], r["tx_bytes_per_step"]
        ratio = f"{base / s['mean']:.2f}" if base else ""
        spread = f"{s['median']:.3f} s ({s['min']:.3f}..{s['max']:.3f})"
        wire = bytes_text(sent) if sent is not None else "not in a lab"
        lines.append(f"| {r['peer']} | {spread} | {s['mean']:.3f} s | {ratio} | {wire} | {r['cpu_s']:.3f} s |")
    return "\n".join(lines)


if __name__ == "__main__":
    start(main)

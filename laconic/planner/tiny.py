"""A model of almost nothing, distributed: what its steps take beside all that the tables of a probe explain.

Where ranks share cores, every answer finds somebody asleep: the backend's thread, a lane, the training thread, one
after the other, on each rank. The curves of a probe hold one such wait, a training step has more of them. What a tiny
step costs a core and a simulated one does not, is a step's or an exchange's; what it takes longer then is counted as
latency:

    step_s         of a step                      from `none`, one exchange of one round
    exchange_s     of an exchange                 from `wfbp`, one for every tensor
    sum_wait_s     of a plain sum                 from `none`
    lane_costs     of a compressed exchange       from three beside a plain sum: one gathers, one sums, one deals
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from statistics import median

import torch
import torch.distributed as dist

from laconic.distribute import distribute
from laconic.drive.asked import Kind
from laconic.plan import Plan
from laconic.planner.network_file import NetworkTable
from laconic.sim.exchanges import Setting
from laconic.sim.machine import FREE, LaneCost
from laconic.sim.model import COLD_AFTER_S, ModelTable, Weight
from laconic.sim.step import Stepper

ALONE, COLD, SUM, EACH = "alone", "cold", "none", "wfbp"
LANES = {Kind.GATHER: "topk(0.01)", Kind.REDUCE: "randomk(0.01)", Kind.DEAL: "qsgd(bits=4)"}
PLANS = (ALONE, COLD, SUM, EACH, *LANES.values())
LAYERS, WIDTH = 6, 64
LOOKS = 8  # for a wait; each leaves a fraction of what is missing
STEPS, BLOCKS = 8, 21  # the median block counts; one before them does not
FEW, PATIENCE_S = 3, 10.0  # blocks of one step, where that many would take longer


def step_of(plan: str) -> tuple[float, float]:
    """Seconds of a step, and of all threads of this rank on a core; all ranks together.

    ALONE, COLD: not distributed; COLD: each step after a pause, as if it had waited for others (profiler.py)."""
    model = torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    replica = None if plan in (ALONE, COLD) else distribute(model, optimizer, plan)
    x = torch.zeros(2, WIDTH)

    def block(steps: int) -> tuple[float, float]:
        dist.barrier()
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(steps):
            if plan == COLD:
                time.sleep(COLD_AFTER_S)
            model(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        return (time.perf_counter() - wall) / steps, (time.process_time() - cpu) / steps

    block(1)  # loads what is loaded once
    blocks, steps = _patient(block(1)[0])
    block(steps)
    took = [block(steps) for _ in range(blocks)]
    dist.barrier()
    if replica is not None:
        replica.close()
    return median(t for t, _ in took), median(t for _, t in took)


def _patient(first_s: float) -> tuple[int, int]:
    """Blocks, and steps of each, as the slowest rank's first step lets expect; the same on all ranks."""
    slowest = torch.tensor([first_s], dtype=torch.float64)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return (BLOCKS, STEPS) if float(slowest) * STEPS * (BLOCKS + 1) <= PATIENCE_S else (FEW, 1)


def table(alone_s: float, cold_s: float = 0.0) -> ModelTable:
    """The same model for the simulator; `alone_s`, and `cold_s` more after a pause: on a core."""
    shapes = [shape for _ in range(LAYERS) for shape in ((WIDTH, WIDTH), (WIDTH,))]
    share, last = alone_s / len(shapes), len(shapes) - 1
    weights = (Weight(f"{i}", shape, share / 3, 2 * share / 3, i, last - i) for i, shape in enumerate(shapes))
    return ModelTable("tiny", tuple(weights), cold_s=cold_s)


Seen = Mapping[str, tuple[float, float]]  # by plan: seconds of a step, and on a core


def explained(network: NetworkTable, tiny: Seen) -> NetworkTable:
    """With what such steps cost and wait that tables do not explain otherwise."""
    alone = tiny[ALONE][1]
    model = table(alone, max(0.0, tiny[COLD][1] - alone))
    known = replace(network, step_s=0.0, exchange_s=0.0, sum_wait_s=0.0, lane_costs={})
    known = _waiting(_costs(known, model, tiny), model, tiny[SUM][0])
    return replace(known, lane_costs={k.value: _lane_cost(known, model, k, tiny[text]) for k, text in LANES.items()})


def _costs(network: NetworkTable, model: ModelTable, tiny: Seen) -> NetworkTable:
    """On a core; noise may leave nothing."""
    one, each = (tiny[text][1] - _on_core(_stepper(network, model, text), tiny[text][0]) for text in (SUM, EACH))
    exchange_s = max(0.0, (each - one) / (2 * LAYERS - 1))
    return replace(network, exchange_s=exchange_s, step_s=max(0.0, one - exchange_s))


def _on_core(stepper: Stepper, seconds: float) -> float:
    """Of a step that takes so long."""
    machine, model = stepper.setting.machine, stepper.setting.model
    computing = model.step_s + model.cold_s * math.sqrt(min(1.0, seconds / COLD_AFTER_S)) + machine.step_s
    sending = (w.messages * machine.message_cpu_s + w.sent * machine.send_cpu_s for i in stepper.items for w in i.wires)
    return computing + sum(sum(i.cpu_s) for i in stepper.items) + sum(sending)


def _stepper(network: NetworkTable, model: ModelTable, text: str) -> Stepper:
    world = network.world
    setting = Setting(model, network.network(), world, network.machine(world), network.measured(world))
    return Stepper(Plan.parse(text), setting)


def _waiting(network: NetworkTable, model: ModelTable, seconds: float) -> NetworkTable:
    """Longer and longer waits, until a simulated step takes so long."""
    for _ in range(LOOKS):
        missing = seconds - _stepper(network, model, SUM).step().seconds
        if missing <= 0:
            break
        network = replace(network, sum_wait_s=network.sum_wait_s + missing)
    return network


def _lane_cost(network: NetworkTable, model: ModelTable, kind: Kind, seen: tuple[float, float]) -> LaneCost:
    """The same for a compressed exchange; the lane beside it may hide the first of it."""
    seconds, on_core = seen
    cost = FREE

    def stepper() -> Stepper:
        return _stepper(replace(network, lane_costs={kind.value: cost}), model, LANES[kind])

    cost = LaneCost(max(0.0, on_core - _on_core(stepper(), seconds)))
    for _ in range(LOOKS):
        missing = seconds - stepper().step().seconds
        if missing <= 0:
            break
        cost = replace(cost, wait_s=cost.wait_s + missing)
    return cost

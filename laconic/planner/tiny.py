"""A model of almost nothing, distributed: what its steps take beside all that the tables of a probe explain.

Where ranks share cores, every answer finds somebody asleep: the backend's thread, a lane, the training thread, one
after the other, on each rank. The curves of a probe hold one such wait, a training step has more of them. What a tiny
step takes and a simulated one does not, by round, is counted as latency:

    sum_wait_s     of a plain sum               from `none`, one exchange of one round
    lane_wait_s    of a round in a lane         from a quantizer, one exchange of two rounds beside a plain one
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import median

import torch
import torch.distributed as dist

from laconic.distribute import distribute
from laconic.plan import Plan
from laconic.planner.network_file import NetworkTable
from laconic.sim.model import ModelTable, Weight
from laconic.sim.step import Setting, Stepper

ALONE, SUM, LANE = "alone", "none", "qsgd(bits=4)"
LAYERS, WIDTH = 6, 64
ROUNDS = 8  # of looking for a wait; each leaves a fraction of what is missing
STEPS, BLOCKS = 8, 7  # the median block counts; one before them does not


def step_of(plan: str) -> tuple[float, float]:
    """Seconds of a step, and of all threads of this rank on a core; all ranks together. ALONE: not distributed."""
    model = torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    replica = None if plan == ALONE else distribute(model, optimizer, plan)
    x, took = torch.zeros(2, WIDTH), []
    for _ in range(BLOCKS + 1):
        dist.barrier()
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(STEPS):
            model(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        took.append(((time.perf_counter() - wall) / STEPS, (time.process_time() - cpu) / STEPS))
    dist.barrier()
    if replica is not None:
        replica.close()
    return median(t for t, _ in took[1:]), median(t for _, t in took[1:])


def table(alone_s: float) -> ModelTable:
    """The same model for the simulator; `alone_s`: on a core."""
    shapes = [shape for _ in range(LAYERS) for shape in ((WIDTH, WIDTH), (WIDTH,))]
    share, last = alone_s / len(shapes), len(shapes) - 1
    weights = (Weight(f"{i}", shape, share / 3, 2 * share / 3, i, last - i) for i, shape in enumerate(shapes))
    return ModelTable("tiny", tuple(weights))


def waits(network: NetworkTable, tiny: Mapping[str, float]) -> NetworkTable:
    """With the waits that these seconds of a step (ALONE: on a core) do not explain otherwise."""
    known, model = replace(network, sum_wait_s=0.0, lane_wait_s=0.0), table(tiny[ALONE])
    known = _explained(known, model, SUM, tiny[SUM], lambda now, more: replace(now, sum_wait_s=now.sum_wait_s + more))
    return _explained(
        known, model, LANE, tiny[LANE], lambda now, more: replace(now, lane_wait_s=now.lane_wait_s + more)
    )


def _explained(
    network: NetworkTable,
    model: ModelTable,
    text: str,
    seconds: float,
    waiting: Callable[[NetworkTable, float], NetworkTable],
) -> NetworkTable:
    """Longer and longer waits, until a simulated step of this plan takes so long; other lanes may hide the first."""
    world = network.world
    for _ in range(ROUNDS):
        setting = Setting(model, network.network(), world, network.machine(world), network.measured(world))
        stepper = Stepper(Plan.parse(text), setting)
        missing = seconds - stepper.step().seconds
        if missing <= 0:
            break
        network = waiting(network, missing / max(len(item.wires) for item in stepper.items))
    return network

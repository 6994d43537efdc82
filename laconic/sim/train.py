"""A real training with virtual workers: the metric against simulated time and bytes.

Every worker has its own model, optimizer, data and `Replica`; what they say travels in this process (drive/virtual.py).
What a step would have taken is simulated (pace.py) from the model's own layers. Not for plans that leave the rounds:
workers here are never ahead of one another, only late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from laconic import inventory
from laconic.core.errors import PlanError
from laconic.core.exchange import Seat
from laconic.drive.lockstep import ReduceBy
from laconic.drive.virtual import VirtualCrew, VirtualDriver
from laconic.plan import Plan
from laconic.replica import Replica
from laconic.sync import Subject
from laconic.topology import AllReduce, Gossip
from laconic.topology.allreduce import AUTO, NATIVE

Batches = Iterator[tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Job:
    """What every worker trains; `make` gives equal models to all."""

    make: Callable[[], tuple[nn.Module, torch.optim.Optimizer]]
    loss: Callable[[nn.Module, Tensor, Tensor], Tensor]
    batches: Callable[[int, int], Batches]  # rank, world
    score: Callable[[nn.Module], dict[str, float]]


@dataclass(frozen=True)
class Seen:
    """What was reached after a step."""

    step: int
    seconds: float  # simulated
    sent_bytes: float  # by a worker, on average
    metrics: dict[str, float]


def virtual(plan: Plan, job: Job, world: int, steps: int, every: int, step_s: float) -> list[Seen]:
    """`step_s`: what a step takes in the simulated setting."""
    _refuse(plan)
    crew = VirtualCrew(world, _reduce_by(plan))
    seen: list[Seen] = []

    def worker(rank: int, driver: VirtualDriver) -> None:
        model, optimizer = job.make()
        seat = Seat(rank, world, plan.topology)
        replica = Replica(inventory.take(model, optimizer), optimizer, plan, seat, driver, driver.link, "raise")
        replica.riders.delayed = plan.schedule.crosses  # as sim/step.py counts messages
        replica.reorder(replica.units)
        batches = job.batches(rank, world)
        for step in range(1, steps + 1):
            x, y = next(batches)
            job.loss(model, x, y).backward()
            optimizer.step()
            optimizer.zero_grad()
            if step % every == 0 or step == steps:
                replica.flush() if step < steps else replica.average()
                if rank == 0:
                    sent = sum(d.link.sent_bytes for d in crew.drivers) / world
                    seen.append(Seen(step, step * step_s, sent, job.score(model)))
        replica.close()

    crew.run(worker)
    return seen


def _refuse(plan: Plan) -> None:
    if isinstance(plan.topology, Gossip) and not plan.topology.by.waits:
        raise PlanError(f"{plan.topology}: neighbours meet beside the training, which virtual workers cannot.")
    if plan.subject is Subject.NOTHING:
        raise PlanError(f"{plan.sync}: there is nothing to simulate about workers that never talk.")


def _reduce_by(plan: Plan) -> ReduceBy | None:
    topology = plan.topology
    if isinstance(topology, AllReduce) and topology.algorithm not in (NATIVE, AUTO):
        return topology.program
    return None

"""A real training with virtual workers: the metric against simulated time and bytes.

Every worker has its own model, optimizer, data and `Replica`; what they say travels in this process (drive/virtual.py).
What a step would have taken is simulated (pace.py) from the model's own layers, for the plan at work in that step
(phases.py); of plans that talk every few steps each has its share. Judged is the mean of all workers'
models as they are, made in this process: nothing is sent for it and nobody's training notices, so `local(32)` talks
every 32 steps and not whenever somebody looks.

Not for plans that leave the rounds: workers here are never ahead of one another, only late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from laconic import inventory
from laconic.compress import AbstractCompressor, Paced
from laconic.core.errors import PlanError
from laconic.core.exchange import Seat
from laconic.drive.lockstep import ReduceBy
from laconic.drive.virtual import VirtualCrew, VirtualDriver
from laconic.plan import Plan
from laconic.replica import Replica
from laconic.sim.phases import Price, at_work
from laconic.stepping.rounds import Rounds
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


@dataclass(frozen=True)
class Phase:
    """Steps that were priced alike."""

    from_step: int
    plan: Plan
    step_s: float


@dataclass(frozen=True)
class Trained:
    seen: list[Seen]
    phases: list[Phase]
    decisions: list[str]  # what the plan has changed on the way, on all workers alike


def virtual(plan: Plan, job: Job, world: int, steps: int, every: int, price: Price) -> Trained:
    """`price`: what a step takes in the simulated setting."""
    refuse(plan)
    crew = VirtualCrew(world, _reduce_by(plan))
    models: dict[int, nn.Module] = {}
    out = Trained([], [], [])

    def worker(rank: int, driver: VirtualDriver) -> None:
        model, optimizer = job.make()
        models[rank] = model
        replica = replica_of(model, optimizer, plan, Seat(rank, world, plan.topology), driver)
        batches, seconds = job.batches(rank, world), 0.0
        for step in range(1, steps + 1):
            if rank == 0:
                now = at_work(plan, step, replica.turns, _period(replica))
                seconds += price(now)
                if not out.phases or out.phases[-1].plan != now:
                    out.phases.append(Phase(step, now, price(now)))
            loss = job.loss(model, *next(batches))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            replica.observe(float(loss.detach()))
            if step % every == 0 or step == steps:
                crew.wait_for_others(driver)  # until all have taken this step; rank 0 goes on first
                if rank == 0:
                    sent = sum(d.link.sent_bytes for d in crew.drivers) / world
                    metrics = job.score(mean_of([models[r] for r in range(world)]))
                    out.seen.append(Seen(step, seconds, sent, metrics))
        replica.close()
        if rank == 0:
            out.decisions.extend(replica.decisions)

    crew.run(worker)
    return out


def replica_of(
    model: nn.Module, optimizer: torch.optim.Optimizer, plan: Plan, seat: Seat, driver: VirtualDriver
) -> Replica:
    replica = Replica(inventory.take(model, optimizer), optimizer, plan, seat, driver, driver.link, "raise")
    replica.talk.riders.delayed = plan.schedule.crosses  # as sim/exchanges.py counts messages
    replica.reorder(replica.units)
    return replica


def _period(replica: Replica) -> int:
    """Steps between rounds; 0 where it does not follow the loss."""
    return replica.stepping.pace.period if isinstance(replica.stepping, Rounds) else 0


@torch.no_grad()
def mean_of(models: Sequence[nn.Module]) -> nn.Module:
    """A model of its own; of equal ones exactly the same. Counters are the first one's."""
    mean = deepcopy(models[0])
    tensors = [*mean.parameters(), *mean.buffers()]
    for count, other in enumerate(models[1:], 2):
        for t, x in zip(tensors, [*other.parameters(), *other.buffers()], strict=True):
            if t.is_floating_point():
                t.add_(x - t, alpha=1 / count)
    return mean


def refuse(plan: Plan) -> None:
    """What virtual workers cannot do."""
    if isinstance(plan.topology, Gossip) and not plan.topology.by.waits:
        raise PlanError(f"{plan.topology}: neighbours meet beside the training, which virtual workers cannot.")
    if plan.subject is Subject.NOTHING:
        raise PlanError(f"{plan.sync}: there is nothing to simulate about workers that never talk.")
    if plan.subject is Subject.UPDATE:
        raise PlanError(
            f"{plan.sync}: its workers do not wait for one another, and virtual workers take every step together, so "
            f"nobody would ever be ahead or stale. Leave --train out to simulate its time, or run it on real processes."
        )
    if any(isinstance(c, Paced) for c in _all(plan.compress)):
        raise PlanError(
            f"{plan.compress}: paced follows how long exchanges take, and those of virtual workers take none of the "
            f"simulated time. Train with one of its rungs, for example topk(0.05), or run it on real processes."
        )


def _all(compress: AbstractCompressor) -> Iterator[AbstractCompressor]:
    yield compress
    for part in compress.parts:
        yield from _all(part)


def _reduce_by(plan: Plan) -> ReduceBy | None:
    topology = plan.topology
    if isinstance(topology, AllReduce) and topology.algorithm not in (NATIVE, AUTO):
        return topology.program
    return None

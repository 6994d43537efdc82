"""Many steps of many workers who are not equally fast: how long one takes on average.

    bsp          everyone waits for the slowest of every step
    local(h)     everyone waits for the slowest sum of h steps
    asp, ssp     nobody waits, or only within a bound: raced through the servers, message by message (race.py)
    gossip       x_i <- max over those i hears (and itself) of x_j + their step; then the exchange

x: when a worker is through. So a slow moment of one worker reaches its neighbours in the next round, and not everybody
at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laconic.plan import Plan
from laconic.sim.race import race
from laconic.sim.step import Setting, Step, Stepper
from laconic.sim.stragglers import Stragglers
from laconic.sync import Subject
from laconic.topology import Gossip

STEPS = 24
UPDATE = "update"  # the subject of plans whose steps are added to a shared model as they come
WIDEST = 512  # workers whose neighbourhoods are followed one by one


@dataclass(frozen=True)
class Pace:
    """`step`: one without stragglers; `seconds`: with them, on average."""

    step: Step
    seconds: float
    alone_s: float  # of a worker that never waits, on average


def pace(plan: Plan, setting: Setting, stragglers: Stragglers | None = None, steps: int = STEPS) -> Pace:
    stepper = Stepper(plan, setting)
    usual = stepper.step()
    if stragglers is None or stragglers.kind == "none":
        return Pace(usual, usual.seconds, usual.alone_s)
    steps = -(-steps // stepper.every) * stepper.every
    factors = stragglers.factors(setting.world, steps)
    alone = stepper.alone() * float(factors.mean())
    if isinstance(plan.topology, Gossip):
        return Pace(usual, _gossip(plan.topology, stepper, factors), alone)
    if plan.subject.value == UPDATE:
        return Pace(usual, _raced(plan, stepper, factors), alone)
    if plan.subject is Subject.GRADIENT:
        slowest = factors.max(axis=1) if stragglers.varies else factors.max(axis=1)[:1]
        return Pace(usual, float(np.mean([stepper.step(float(f)).seconds for f in slowest])), alone)
    sums = factors.reshape(-1, stepper.every, setting.world).sum(axis=1).max(axis=1) / stepper.every
    talk = usual.seconds - usual.alone_s
    return Pace(usual, stepper.alone() * float(sums.mean()) + talk, alone)


def _raced(plan: Plan, stepper: Stepper, factors: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """Seconds a step of the mean worker: a slow one delays itself, and others as far as the bound says."""
    setting = stepper.setting
    servers = plan.topology.owners(setting.world) or 1
    bound: int | None = getattr(plan.sync, "bound", None)
    nbytes = sum(item.sent for item in stepper.items)
    through = race(stepper.alone() * factors, nbytes, setting.network, servers, bound)
    return float(through.mean()) / len(factors)


def _gossip(topology: Gossip, stepper: Stepper, factors: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    steps, world = factors.shape
    few = min(world, WIDEST)
    graph, alone = topology.graph.settle(few), stepper.alone()
    talk = (stepper.step().seconds - alone) * stepper.every
    clock, turn = np.zeros(few), 0
    for step in range(steps):
        clock += alone * factors[step, :few]
        if stepper.plan.sync.talks(step + 1):
            rows = graph.weights(few, turn, 0).rows
            clock = np.array([max(clock[j] for j in (*row, i)) for i, row in enumerate(rows)]) + talk
            turn += 1
    return float(clock.max()) / steps

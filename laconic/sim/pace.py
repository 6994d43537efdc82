"""Many steps of many workers who are not equally fast: how long one takes on average.

    bsp          everyone waits for the slowest of every step
    local(h)     everyone waits for the slowest sum of h steps
    cocod, ...   a round begins when the slowest has begun it, and is waited for `lag` steps later (turns.py)
    asp, ssp     nobody waits, or only within a bound: raced through the servers, message by message (raced.py), also
                 where all are equally fast; so are r2sp and backup(b)
    silent       nobody waits: the mean of what each takes alone
    gossip       x_i <- max over those i hears (and itself) of x_j + their step; then the exchange

x: when a worker is through. So a slow moment of one worker reaches its neighbours in the next round, and not everybody
at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from laconic.core.errors import PlanError
from laconic.plan import Plan
from laconic.sim.collective import WORST
from laconic.sim.exchanges import Setting
from laconic.sim.hearing import Floats, Hearing
from laconic.sim.lanes import Step
from laconic.sim.raced import raced, raced_steps, unraced
from laconic.sim.step import Stepper
from laconic.sim.stragglers import Stragglers
from laconic.sync import Subject
from laconic.topology import Gossip

STEPS = 24


@dataclass(frozen=True)
class Pace:
    """`step`: one without stragglers; `seconds`: with them, on average."""

    step: Step
    seconds: float
    alone_s: float  # of a worker that never waits, on average


def pace(plan: Plan, setting: Setting, stragglers: Stragglers | None = None, steps: int = STEPS) -> Pace:
    stepper, late = Stepper(plan, setting), stragglers or Stragglers()
    plan, usual = stepper.plan, stepper.step()
    steps = -(-steps // stepper.every) * stepper.every
    if plan.subject is Subject.UPDATE and stepper.talks:
        return _race(stepper, usual, late, steps)
    if late.kind == "none":
        return Pace(usual, usual.seconds, usual.alone_s)
    factors = late.factors(setting.world, steps)
    alone = stepper.alone() * float(factors.mean())
    if not stepper.talks:
        return Pace(usual, alone, alone)
    if isinstance(plan.topology, Gossip):
        return Pace(usual, _gossip(plan.topology, stepper, factors), alone)
    if plan.subject is Subject.GRADIENT:
        slowest = factors.max(axis=1) if late.varies else factors.max(axis=1)[:1]
        return Pace(usual, float(np.mean([stepper.step(float(f)).seconds for f in slowest])), alone)
    return Pace(usual, _rounds(stepper, factors), alone)


def _race(stepper: Stepper, usual: Step, late: Stragglers, steps: int) -> Pace:
    """Also of workers that are equally fast: who came first is answered first, and computes while others push."""
    why = unraced(stepper)
    if why is not None and late.kind != "none":
        raise PlanError(why)
    if why is not None:
        note = f"not raced, but as if all pushed and pulled at once: {why.rstrip('.')}"
        return Pace(replace(usual, notes=(*usual.notes, note)), usual.seconds, usual.alone_s)
    raced_for = raced_steps(stepper, steps)
    factors = late.factors(stepper.setting.world, steps)
    notes = (note for note in usual.notes if note != WORST)  # every message has the line it travels on
    step = replace(usual, notes=(*notes, f"raced for {raced_for} steps"))
    return Pace(step, raced(stepper, factors[:raced_for]), stepper.alone() * float(factors.mean()))


def _rounds(stepper: Stepper, factors: Floats) -> float:
    """Of rounds after a few steps each; the first is thrown away, since none was under way when it began."""
    lag, marks = stepper.lag, []
    blocks = stepper.alone() * factors.reshape(-1, stepper.every, factors.shape[1])
    clock, arrival = np.zeros(factors.shape[1]), 0.0
    for block in (blocks[0], *blocks):
        hidden = block[:lag].sum(axis=0) + stepper.drags_s
        clock = np.maximum(clock + hidden, arrival) + block[lag:].sum(axis=0)
        arrival = float(clock.max()) + stepper.arrives_s
        marks.append(float(clock.max()))
    return (marks[-1] - marks[0]) / len(factors)


def _gossip(topology: Gossip, stepper: Stepper, factors: Floats) -> float:
    world = factors.shape[1]
    hearing, alone = Hearing(topology.graph.settle(world), world), stepper.alone()
    talk = (stepper.step().seconds - alone) * stepper.every
    clock, turn = np.zeros(world), 0
    for step, factor in enumerate(factors):
        clock += alone * factor
        if stepper.plan.sync.talks(step + 1):
            clock = hearing.latest(turn, clock) + talk
            turn += 1
    return float(clock.max()) / len(factors)

"""Many steps of many workers who are not equally fast: how long one takes on average.

    bsp          everyone waits for the slowest of every step
    local(h)     everyone waits for the slowest sum of h steps
    cocod, ...   a round begins when the slowest has begun it, and is waited for `lag` steps later (turns.py)
    asp, ssp     nobody waits, or only within a bound: raced through the servers, message by message (race.py)
    r2sp         the same, and servers take updates in in turn; backup(b): in rounds, without the b last (taking.py)
    gossip       x_i <- max over those i hears (and itself) of x_j + their step; then the exchange

x: when a worker is through. So a slow moment of one worker reaches its neighbours in the next round, and not everybody
at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from laconic.core.errors import PlanError
from laconic.plan import Plan
from laconic.sim.exchanges import Setting
from laconic.sim.hearing import Floats, Hearing
from laconic.sim.lanes import Step
from laconic.sim.race import race
from laconic.sim.step import Stepper
from laconic.sim.stragglers import Stragglers
from laconic.sim.taking import InRounds, InTurn, Taking
from laconic.sync import AbstractShared, Subject, shared
from laconic.topology import Gossip, ParameterServer

STEPS = 24
FEWEST_STEPS = 3
MESSAGES = 400_000  # of a race; more servers and workers are raced for fewer steps


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
    if plan.subject is Subject.UPDATE:
        turns = _raced_turns(plan, setting.world, steps // stepper.every)
        note = f"raced for {turns * stepper.every} steps"
        seconds = _raced(plan, stepper, factors[: turns * stepper.every])
        return Pace(replace(usual, notes=(*usual.notes, note)), seconds, alone)
    if plan.subject is Subject.GRADIENT:
        slowest = factors.max(axis=1) if stragglers.varies else factors.max(axis=1)[:1]
        return Pace(usual, float(np.mean([stepper.step(float(f)).seconds for f in slowest])), alone)
    return Pace(usual, _rounds(stepper, factors), alone)


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


def _raced(plan: Plan, stepper: Stepper, factors: Floats) -> float:
    """Seconds a step of the mean worker: a slow one delays itself, and others as far as the bound says."""
    setting, sync = stepper.setting, plan.sync
    assert isinstance(sync, AbstractShared), "whose subject updates are"
    assert isinstance(plan.topology, ParameterServer), "others are refused (turns.py)"
    if sync.grace_s:
        raise PlanError(f"{sync}: a window for late updates is not raced. Simulate backup({sync.backup}).")
    pushed, pulled = sum(item.said for item in stepper.items), sum(item.heard for item in stepper.items)
    beside = plan.topology.layout == "colocated"
    through = race(
        stepper.alone() * factors.reshape(-1, stepper.every, setting.world).sum(axis=1),
        pushed,
        setting.network,
        plan.topology.owners(setting.world),
        sync.bound if sync.order == shared.IN_ANY_ORDER else None,
        reply_bytes=pulled,
        taking=_taking(sync, setting.world),
        hosts=range(setting.world) if beside else None,
    )
    if sync.order == shared.IN_ROUNDS:  # when the shared model was through, not those whose steps were dropped
        return float(np.sort(through)[setting.world - sync.backup - 1]) / len(factors)
    return float(through.mean()) / len(factors)


def _raced_turns(plan: Plan, world: int, turns: int) -> int:
    """How often workers push before a race is over."""
    each = 2 * world * plan.topology.owners(world)
    if each * FEWEST_STEPS > MESSAGES * 1.25:
        raise PlanError(
            f"'{plan.sync} / {plan.topology}' with stragglers: {each:,} messages a step of {world} workers are not "
            f"raced one by one. Simulate fewer workers, or fewer servers, as in ps(servers=16)."
        )
    return min(turns, max(FEWEST_STEPS, MESSAGES // each))


def _taking(sync: AbstractShared, world: int) -> Taking | None:
    match sync.order:
        case shared.IN_TURN:
            return InTurn(world)
        case shared.IN_ROUNDS:
            return InRounds(world, sync.backup)
        case _:
            return None


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

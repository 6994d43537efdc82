"""Many steps of many workers who are not equally fast: how long one takes on average.

    bsp          everyone waits for the slowest of every step
    local(h)     everyone waits for the slowest sum of h steps
    cocod, ...   a round begins when the slowest has begun it, and is waited for `lag` steps later (turns.py)
    asp, ssp     nobody waits, or only within a bound: raced through the servers, message by message (raced.py), also
                 where all are equally fast; so are r2sp and backup(b)
    silent       nobody waits: the mean of what each takes alone
    gossip       x_i <- max over those i hears (and itself) of x_j + their step; then the exchange

x: when a worker is through. So a slow moment of one worker reaches its neighbours in the next round, and not everybody
at once. Of what is exposed, the part of stragglers is what is not there when all are equally fast.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from laconic.core.errors import PlanError
from laconic.plan import Plan
from laconic.sim.collective import WORST
from laconic.sim.exchanges import Setting
from laconic.sim.hearing import Hearing
from laconic.sim.lanes import HARDLY, Step
from laconic.sim.raced import raced, raced_turns, unraced
from laconic.sim.step import Stepper
from laconic.sim.stragglers import Floats, Stragglers
from laconic.sync import Subject
from laconic.topology import Gossip

STEPS = 24


@dataclass(frozen=True)
class Pace:
    """`step`: one without stragglers; `seconds`: with them, on average."""

    step: Step
    seconds: float
    alone_s: float  # of an ordinary worker that never waits: not of a slow one; where all vary, the mean of all draws

    @property
    def exposed_s(self) -> float:
        """What others add: to talk to them, and to wait for the slow ones."""
        return max(0.0, self.seconds - self.alone_s)

    @property
    def stragglers_s(self) -> float:
        """What of it is there for stragglers alone."""
        return max(0.0, self.exposed_s - self.step.exposed_s)

    @property
    def bottleneck(self) -> str:
        if self.exposed_s < HARDLY * self.alone_s:
            return "compute"
        return "stragglers" if self.stragglers_s > 0.5 * self.exposed_s else self.step.held_up_by


def pace(plan: Plan, setting: Setting, stragglers: Stragglers | None = None, steps: int = STEPS) -> Pace:
    stepper, late = Stepper(plan, setting), stragglers or Stragglers()
    plan, usual = stepper.plan, stepper.step()
    turns = -(-steps // stepper.every)
    if plan.subject is Subject.UPDATE and stepper.talks:
        return _race(stepper, usual, late, turns)
    if late.kind == "none":
        return Pace(usual, usual.seconds, usual.alone_s)
    lag = min(stepper.lag, stepper.every)
    stretches = late.summed(setting.world, [lag, stepper.every - lag] * turns)
    sums = np.array(list(stretches)).reshape(turns, 2, setting.world)
    whole = sums.sum(axis=1)  # turns x workers
    mean = float(whole.mean()) / stepper.every
    alone = stepper.alone() * _ordinary(late, mean)
    if not stepper.talks:
        return Pace(usual, stepper.alone() * mean, alone)
    if isinstance(plan.topology, Gossip):
        return Pace(usual, _gossip(plan.topology, stepper, whole), alone)
    if plan.subject is Subject.GRADIENT:
        slowest = whole.max(axis=1) if late.varies else whole.max(axis=1)[:1]
        return Pace(usual, float(np.mean([stepper.step(float(f)).seconds for f in slowest])), alone)
    return Pace(usual, _rounds(stepper, sums), alone)


def _ordinary(late: Stragglers, mean: float) -> float:
    """The factor of a worker on its own. `slow` ones are others; where everyone varies, everyone is like the mean."""
    return mean if late.varies else 1.0


def _race(stepper: Stepper, usual: Step, late: Stragglers, turns: int) -> Pace:
    """Also of workers that are equally fast: who came first is answered first, and computes while others push. No
    step of one worker stands for all of it, so there is none to draw."""
    why = unraced(stepper)
    if why is not None and late.kind != "none":
        raise PlanError(why)
    if why is not None:
        note = f"not raced, but as if all pushed and pulled at once: {why.rstrip('.')}"
        return Pace(replace(usual, notes=(*usual.notes, note)), usual.seconds, usual.alone_s)
    world, raced_for = stepper.setting.world, raced_turns(stepper, turns, 1 if late.kind == "none" else 2)
    sums = np.array(list(late.summed(world, [stepper.every] * raced_for)))
    alike_s = raced(stepper, np.full((raced_for, world), float(stepper.every)))
    seconds = alike_s if late.kind == "none" else raced(stepper, sums)
    notes = (note for note in usual.notes if note != WORST)  # every message has the line it travels on
    step = replace(usual, seconds=alike_s, spans=(), notes=(*notes, f"raced for {raced_for * stepper.every} steps"))
    return Pace(step, seconds, stepper.alone() * _ordinary(late, float(sums.mean()) / stepper.every))


def _rounds(stepper: Stepper, sums: Floats) -> float:
    """Of rounds after a few steps each; the first is thrown away, since none was under way when it began. `sums`, of
    each round and worker: of the steps behind which the round before hides, and of the others."""
    marks, blocks = list[float](), stepper.alone() * sums
    clock, arrival = np.zeros(sums.shape[2]), 0.0
    for before, after in (blocks[0], *blocks):
        clock = np.maximum(clock + before + stepper.drags_s, arrival) + after
        arrival = float(clock.max()) + stepper.arrives_s
        marks.append(float(clock.max()))
    return (marks[-1] - marks[0]) / (len(sums) * stepper.every)


def _gossip(topology: Gossip, stepper: Stepper, sums: Floats) -> float:
    """`sums`: of the steps before each exchange, of each worker."""
    world = sums.shape[1]
    hearing, alone = Hearing(topology.graph.settle(world), world), stepper.alone()
    talk = (stepper.step().seconds - alone) * stepper.every
    clock = np.zeros(world)
    for turn, factor in enumerate(sums):
        clock = hearing.latest(turn, clock + alone * factor) + talk
    return float(clock.max()) / (len(sums) * stepper.every)

"""One training step of a plan, in virtual time, as the runtime takes it (replica.py, drive/lanes.py).

Workers are alike, so one stands for all; where they are not (stragglers), the slowest does, since everyone waits for
it. `local(h)` and gossip talk after the step: what they say is added once every h steps. Where a turn says a part of
the model (turns.py), turns are simulated one by one, and their mean counts. Drawn is a step that talks, with the
longest turn there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from laconic.core.errors import PlanError
from laconic.plan import Plan
from laconic.sim.changing import changing
from laconic.sim.collective import Collectives
from laconic.sim.drawing import computing, followed
from laconic.sim.exchanges import Setting, exchanges
from laconic.sim.lanes import MAIN, Step, afterwards, overlapped
from laconic.sim.model import COLD_AFTER_S
from laconic.sim.settling import settle
from laconic.sim.turns import lag, period, refused, steady
from laconic.sync import Subject
from laconic.topology import AllReduce, Gossip


class Stepper:
    """A plan in a setting, ready to take steps: what is launched and what it costs is worked out once."""

    def __init__(self, plan: Plan, setting: Setting) -> None:
        why = refused(plan)
        if why is not None:
            raise PlanError(why)
        plan, self.notes = steady(plan)
        self.plan, self.setting = plan, setting
        self.talks = plan.subject is not Subject.NOTHING and setting.world > 1
        ways = Collectives(plan.topology, setting.network, setting.world, setting.measured)
        self.notes = (*self.notes, *((*changing(plan.compress), *ways.notes) if self.talks else ()))
        self._play: Callable[[float, float], Step] | None = None  # of a schedule that was settled by a trial
        if self.talks and plan.schedule.is_measured:
            settled = settle(plan, setting, ways)
            self.turns, self._play, self.notes = [settled.items], settled.play, (*self.notes, settled.note)
        else:
            self.turns = exchanges(plan, setting, ways) if self.talks else []
        self.items = [item for turn in self.turns for item in turn]
        self.every = period(plan) if self.talks else 1
        self.lag = lag(plan)
        after = self.talks and plan.subject is not Subject.GRADIENT
        self.arrives_s = 0.0  # from the beginning of a turn that comes after a step until all is there
        self.drags_s = 0.0  # what such a turn adds to the steps it hides behind, by the cores it takes
        self.talk = self._talk() if after else None

    def _talk(self) -> Step:
        """What a turn adds to its steps, on average."""
        hidden_s, beside_s = self.lag * self.alone(), self.lag * self.setting.model.step_s
        seen = [afterwards(turn, self.setting, beside_s) for turn in self.turns]
        arrivals = [max((x.end for x in s.spans if x.actor != MAIN), default=0.0) for s in seen]
        computed = [max((x.end for x in s.spans if x.actor == MAIN), default=0.0) for s in seen]
        self.arrives_s = sum(arrivals) / len(seen)
        self.drags_s = max(0.0, sum(computed) / len(seen) - hidden_s)
        return averaged([replace(s, seconds=max(0.0, s.seconds - hidden_s)) for s in seen], self.notes)

    def alone(self, slowdown: float = 1.0) -> float:
        """One thread computes, on what it has of a core."""
        return self.setting.model.step_s * slowdown / min(1.0, self.setting.machine.cores)

    def step(self, slowdown: float = 1.0) -> Step:
        """One step on average: `local(h)` is counted over h. `slowdown`: of the slowest worker's computing."""
        found = self._step(slowdown)
        cold = self.cold_s(found.exposed_s)
        return replace(found, seconds=found.seconds + cold) if cold else found

    def cold_s(self, exposed_s: float) -> float:
        """What the computation after a wait takes more; both of a step, where `every` steps wait once."""
        share = math.sqrt(min(1.0, exposed_s * self.every / COLD_AFTER_S))
        return share * self.setting.model.cold_s / min(1.0, self.setting.machine.cores) / self.every

    def _step(self, slowdown: float) -> Step:
        alone, each_s = self.alone(slowdown), slowdown / min(1.0, self.setting.machine.cores)
        if not self.talks:
            return Step(alone, alone, 0.0, 0.0, 0.0, 0.0, computing(self.setting.model, each_s))
        if self._play is not None:
            return averaged([self._play(slowdown, alone)], self.notes)
        if self.talk is None:
            seen = [overlapped(self.plan, self.setting, turn, slowdown, alone) for turn in self.turns]
            return averaged(seen, self.notes)
        talk, every = self.talk, self.every
        more = self.setting.machine.step_s / min(1.0, self.setting.machine.cores)
        return Step(
            seconds=alone + (talk.seconds + more) / every,
            alone_s=alone,
            sent_bytes=talk.sent_bytes / every,
            messages=talk.messages / every,
            coding_s=talk.coding_s / every,
            line_s=talk.line_s / every,
            spans=followed(computing(self.setting.model, each_s, more), talk.spans),
            notes=talk.notes,
        )


def simulate(plan: Plan, setting: Setting) -> Step:
    return Stepper(plan, setting).step()


def averaged(steps: Sequence[Step], notes: Sequence[str] = ()) -> Step:
    """The mean of several turns, drawn as the longest."""
    names = ("seconds", "alone_s", "sent_bytes", "messages", "coding_s", "line_s")
    means: dict[str, Any] = {name: sum(getattr(s, name) for s in steps) / len(steps) for name in names}
    longest = max(steps, key=lambda s: s.seconds)
    return replace(longest, **means, notes=tuple(sorted({*notes, *(n for s in steps for n in s.notes)})))


def fits(plan: Plan, world: int) -> str | None:
    """Why so many workers cannot follow this plan; None where they can."""
    topology, why = plan.topology, refused(plan)
    if why is not None:
        return why
    try:
        plan.sync.fit(world)
        if isinstance(topology, Gossip):
            if world < 2:
                return "gossip needs at least two workers"
            topology.graph.settle(world)
        elif isinstance(topology, AllReduce):
            topology.fit(world)
    except PlanError as error:
        return str(error)
    return None

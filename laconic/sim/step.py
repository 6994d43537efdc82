"""One training step of a plan, in virtual time, as the runtime takes it (replica.py, drive/lanes.py).

    main      forward, then backward gradient by gradient; a bucket whose gradients (and those of all before it) are
              final is launched at once, or at the end of backward where the schedule says so; then all are waited for
    lane i    every L-th exchange, in launch order: code, ask, wait, code, ask, ...

Buckets are cut by the runtime's own `laconic.buckets.cut`, requests come from the exchange's own coroutine
(drive/simulate.py). Workers are alike, so one stands for all; where they are not (stragglers), the slowest does, since
everyone waits for it. `local(h)` and gossip talk after the step: what they say is added once every h steps. Where a
turn says a part of the model (turns.py), turns are simulated one by one, and their mean counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from laconic import riders
from laconic.buckets import Bucket, Unit, cut, units
from laconic.compress.one_shot import AbstractOneShot
from laconic.core.errors import PlanError
from laconic.drive.simulate import Asked, Kind, Told, told
from laconic.plan import Plan
from laconic.sim.collective import Collectives, Curve
from laconic.sim.fluid import Actor, Both, Fluid, Gate, Need, On, Span
from laconic.sim.machine import Machine
from laconic.sim.model import COLD_AFTER_S, ModelTable
from laconic.sim.network import Network
from laconic.sim.turns import lag, parts, period, refused, steady
from laconic.sim.wire import Wire
from laconic.sync import Subject
from laconic.topology import AllReduce, Gossip
from laconic.topology.allreduce import gathers

HEADER = 24
MAIN = "main"


@dataclass(frozen=True)
class Exchange:
    """One bucket's: seconds on a core before each round and after the last, and what each round costs the line."""

    name: str
    cpu_s: tuple[float, ...]
    wires: tuple[Wire, ...]
    last: int  # the place of its last gradient in the order of backward
    nbytes: int
    how: str

    @property
    def sent(self) -> float:
        return sum(w.sent for w in self.wires)


@dataclass(frozen=True)
class Step:
    """What a step takes; `alone_s`: the same worker without anybody to talk to."""

    seconds: float
    alone_s: float
    sent_bytes: float
    messages: float
    coding_s: float
    line_s: float
    spans: tuple[Span, ...]
    notes: tuple[str, ...] = ()

    @property
    def exposed_s(self) -> float:
        """What talking adds."""
        return max(0.0, self.seconds - self.alone_s)

    @property
    def bottleneck(self) -> str:
        if self.exposed_s < 0.05 * self.alone_s:
            return "compute"
        return (
            "line"
            if self.line_s > max(self.coding_s, 0.5 * self.exposed_s)
            else ("coding" if self.coding_s > 0.5 * self.exposed_s else "latency")
        )


@dataclass(frozen=True)
class Setting:
    """Where a plan runs."""

    model: ModelTable
    network: Network
    world: int
    machine: Machine = field(default=Machine())
    measured: Mapping[str, Curve] = field(default_factory=dict)


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
        self.notes = (*self.notes, *(ways.notes if self.talks else ()))
        self._play: Callable[[float, float], Step] | None = None  # of a schedule that was settled by a trial
        if self.talks and plan.schedule.is_measured:
            from laconic.sim.settling import settle  # which plays what is here

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
        seen = [_afterwards(turn, self.setting, beside_s) for turn in self.turns]
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
        cold = self._cold(found.exposed_s * self.every) / self.every
        return replace(found, seconds=found.seconds + cold) if cold else found

    def _cold(self, waited_s: float) -> float:
        """What the computation after so long a wait takes more."""
        share = math.sqrt(min(1.0, waited_s / COLD_AFTER_S))
        return share * self.setting.model.cold_s / min(1.0, self.setting.machine.cores)

    def _step(self, slowdown: float) -> Step:
        alone = self.alone(slowdown)
        if not self.talks:
            return Step(alone, alone, 0.0, 0.0, 0.0, 0.0, ())
        if self._play is not None:
            return averaged([self._play(slowdown, alone)], self.notes)
        if self.talk is None:
            seen = [_overlapped(self.plan, self.setting, turn, slowdown, alone) for turn in self.turns]
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
            spans=talk.spans,
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


def exchanges(plan: Plan, setting: Setting, ways: Collectives) -> list[list[Exchange]]:
    """What is launched in each turn, in order."""
    buckets = cut(setting.model.parameters, plan.schedule, plan.compress, setting.world, {})
    count = parts(plan, len(buckets))
    live = [buckets[turn::count] for turn in range(count)]
    return [_turn(plan, setting, ways, some, units(some, plan.schedule.chunk_bytes)) for some in live]


def _turn(
    plan: Plan, setting: Setting, ways: Collectives, live: Sequence[Bucket], launched: Sequence[Unit]
) -> list[Exchange]:
    model = setting.model
    ready = {w.name: w.ready for w in model.weights}
    home = {b.spec.id: b for b in live}
    out = [_exchange(plan, home[u.bucket], u, setting, ways, ready) for u in launched]
    if plan.subject in (Subject.MODEL, Subject.UPDATE) or not setting.machine.votes:
        return out
    rides = plan.subject is Subject.GRADIENT and riders.carrier(plan, launched, live) is not None
    said = {name for b in live for name in b.spec.names}
    model = replace(model, weights=tuple(w for w in model.weights if w.name in said))
    return _with_riders(out, model, setting.machine, ways, rides=rides)


def _with_riders(
    out: list[Exchange], model: ModelTable, machine: Machine, ways: Collectives, *, rides: bool
) -> list[Exchange]:
    """The vote and running statistics (riders.py): at the end of the last message, or in one or two of their own."""
    flags, statistics = 8 * len(model.weights), 4 * model.statistics
    if rides:
        more = ways.round((_sum(out[-1].nbytes + flags + statistics, machine, ways),))
        wires = (*out[-1].wires[:-1], more._replace(latency_s=more.latency_s + machine.sum_wait_s))
        return [*out[:-1], replace(out[-1], wires=wires)]
    if statistics > riders.FEW_BYTES:
        return [_rider("running statistics", statistics, 0, machine, ways), *out, _vote(flags, model, machine, ways)]
    return [*out, _vote(flags + statistics, model, machine, ways)]


def _vote(nbytes: int, model: ModelTable, machine: Machine, ways: Collectives) -> Exchange:
    return _rider("vote", nbytes, len(model.weights), machine, ways)


def _rider(name: str, nbytes: int, last: int, machine: Machine, ways: Collectives) -> Exchange:
    wire = ways.round((_sum(nbytes, machine, ways),))
    wire = wire._replace(latency_s=wire.latency_s + machine.sum_wait_s)
    return Exchange(name, (machine.exchange_s, 0.0), (wire,), last, nbytes, "declared")


def _sum(nbytes: int, machine: Machine, ways: Collectives) -> Asked:
    """As the replica asks for it, and DDP does not: small ones are gathered."""
    gathered = machine.votes and gathers(ways.topology, nbytes, ways.world)
    return Asked(Kind.GATHER if gathered else Kind.REDUCE, nbytes)


def _exchange(
    plan: Plan, b: Bucket, unit: Unit, setting: Setting, ways: Collectives, ready: dict[str, int]
) -> Exchange:
    machine, world, spec = setting.machine, setting.world, unit.spec
    if isinstance(plan.topology, Gossip):
        asks = _gossip(plan.topology, b, world)
    elif b.plain:
        asks = Told(((_sum(spec.nbytes, machine, ways),),), "declared")
    else:
        asks = told(b.compress, spec, plan.topology, world)
    cpu = list(machine.seconds(b.compress, spec, asks, world))
    cpu[0] += machine.touch_s * spec.nbytes + machine.exchange_s
    if not b.plain:
        cpu = [seconds + machine.lane_s * (i < len(asks.rounds)) for i, seconds in enumerate(cpu)]
    wait = machine.sum_wait_s if b.plain else machine.lane_wait_s
    wires = tuple(w._replace(latency_s=w.latency_s + wait) for w in map(ways.round, asks.rounds))
    last = max(ready[name] for name in b.spec.names)
    return Exchange(spec.names[0], tuple(cpu), wires, last, spec.nbytes, asks.how)


def _gossip(topology: Gossip, b: Bucket, world: int) -> Told:
    """A message to each neighbour, written by the bucket's compressor, or whole."""
    graph = topology.graph.settle(world)
    peers = graph.messages(world)
    whole = b.plain or not topology.by.compresses
    nbytes = b.spec.nbytes if whole else -(-b.compress.payload_bits(b.spec) // 8)
    ask = Asked(Kind.POST, nbytes + HEADER, peers)
    if not whole and isinstance(b.compress, AbstractOneShot) and b.compress.varies:
        return Told(((Asked(Kind.POST, 8, peers),), (ask,)), "declared")
    return Told(((ask,),), "declared")


# ------------------------------------------------------------- the timeline


def _overlapped(plan: Plan, setting: Setting, items: Sequence[Exchange], slowdown: float, alone: float) -> Step:
    machine = setting.machine
    fluid = Fluid(machine.cores, machine.overlap)
    ready, done = [Gate() for _ in items], [Gate() for _ in items]
    overlaps = plan.schedule.overlaps
    fluid.add(MAIN, _main(fluid, setting, items, ready, done, slowdown, overlaps=overlaps))
    for lane in range(machine.lanes):
        mine = [i for i in range(len(items)) if i % machine.lanes == lane]
        fluid.add(f"lane {lane}", _lane(fluid, machine, [(items[i], ready[i], done[i]) for i in mine]))
    fluid.run()
    return _report(fluid, items, fluid.ended[MAIN], alone)


def _report(fluid: Fluid, items: Sequence[Exchange], seconds: float, alone: float) -> Step:
    return Step(
        seconds=seconds,
        alone_s=alone,
        sent_bytes=sum(i.sent for i in items),
        messages=sum(w.messages for i in items for w in i.wires),
        coding_s=sum(sum(i.cpu_s) for i in items),
        line_s=sum(w.line_s for i in items for w in i.wires),
        spans=tuple(fluid.spans),
        notes=tuple(sorted({i.how for i in items})),
    )


def _main(
    fluid: Fluid,
    setting: Setting,
    items: Sequence[Exchange],
    ready: Sequence[Gate],
    done: Sequence[Gate],
    slowdown: float,
    *,
    overlaps: bool,
) -> Actor:
    model = setting.model
    yield Need(On.COMPUTE, (model.forward_s + model.other_s) * slowdown, "forward")
    launched, at = 0, -1
    for w in sorted(model.weights, key=lambda w: w.ready):
        yield Need(On.COMPUTE, w.backward_s * slowdown, w.name)
        at = w.ready
        while overlaps and launched < len(items) and items[launched].last <= at:
            fluid.open(ready[launched])
            launched += 1
    for gate in ready[launched:]:
        fluid.open(gate)
    for gate in done:
        yield gate
    yield Need(On.COMPUTE, model.update_s * slowdown + setting.machine.step_s, "update")


def _lane(fluid: Fluid, machine: Machine, mine: Sequence[tuple[Exchange, Gate, Gate]]) -> Actor:
    latency = On.TURN if machine.crowded else On.CLOCK
    for item, ready, done in mine:
        yield ready
        for cpu_s, wire in zip(item.cpu_s, item.wires, strict=False):
            yield Need(On.CODE, cpu_s, item.name)
            for on, seconds, on_core in (
                (latency, wire.latency_s, wire.messages * machine.message_cpu_s),
                (On.LINE, wire.line_s, wire.sent * machine.send_cpu_s),
            ):  # what was measured as a wait holds the work for it
                yield Both(Need(on, seconds, item.name), Need(On.CODE, on_core, item.name))
        yield Need(On.CODE, item.cpu_s[-1], item.name)
        fluid.open(done)


def _afterwards(items: Sequence[Exchange], setting: Setting, beside_s: float = 0.0) -> Step:
    """All exchanges at once, with nothing to hide behind, or beside so many seconds of computing."""
    machine = setting.machine
    fluid = Fluid(machine.cores, machine.overlap)
    gates = [Gate(is_open=True) for _ in items]
    done = [Gate() for _ in items]
    for lane in range(machine.lanes):
        mine = [i for i in range(len(items)) if i % machine.lanes == lane]
        fluid.add(f"lane {lane}", _lane(fluid, machine, [(items[i], gates[i], done[i]) for i in mine]))
    if beside_s:
        fluid.add(MAIN, _computing(beside_s))
    seconds = fluid.run()
    return replace(_report(fluid, items, seconds, 0.0), seconds=seconds)


def _computing(seconds: float) -> Actor:
    yield Need(On.COMPUTE, seconds, "the next steps")


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

"""What a plan launches in a step, in order, and what each of it costs a core and the line.

Buckets are cut by the runtime's own `laconic.buckets.cut`, requests come from the exchange's own coroutine
(drive/simulate.py). Where a turn says a part of the model (turns.py), there is a list for each turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from laconic import riders
from laconic.buckets import Bucket, Unit, cut, units
from laconic.core.exchange import Seat
from laconic.core.payload import HEADER_BYTES
from laconic.drive.asked import Asked, Kind, Told
from laconic.drive.sampling import letter_bytes
from laconic.drive.simulate import told
from laconic.gossiping import mixed_by
from laconic.plan import Plan
from laconic.sim.collective import Collectives, Curve
from laconic.sim.machine import LaneCost, Machine, is_sparse
from laconic.sim.model import ModelTable
from laconic.sim.network import Network
from laconic.sim.turns import parts
from laconic.sim.wire import Wire
from laconic.sync import Subject
from laconic.topology import Gossip
from laconic.topology.allreduce import gathers


@dataclass(frozen=True)
class Setting:
    """Where a plan runs."""

    model: ModelTable
    network: Network
    world: int
    machine: Machine = field(default=Machine())
    measured: Mapping[str, Curve] = field(default_factory=dict)


@dataclass(frozen=True)
class Exchange:
    """One bucket's: seconds on a core before each round and after the last, and what each round costs the line."""

    name: str
    cpu_s: tuple[float, ...]
    wires: tuple[Wire, ...]
    last: int  # the place of its last gradient in the order of backward
    nbytes: int
    notes: tuple[str, ...] = ()
    said: float = 0.0  # to servers that keep the model
    heard: float = 0.0  # from them

    @property
    def sent(self) -> float:
        return sum(w.sent for w in self.wires)


def exchanges(plan: Plan, setting: Setting, ways: Collectives) -> list[list[Exchange]]:
    """What is launched in each turn, in order."""
    buckets = cut(setting.model.parameters, plan.schedule, plan.compress, setting.world, {})
    count = parts(plan, len(buckets))
    live = [buckets[turn::count] for turn in range(count)]
    return [turn_of(plan, setting, ways, some, units(some, plan.schedule.chunk_bytes)) for some in live]


def turn_of(
    plan: Plan, setting: Setting, ways: Collectives, live: Sequence[Bucket], launched: Sequence[Unit]
) -> list[Exchange]:
    model = setting.model
    ready = {w.name: w.ready for w in model.weights}
    home = {b.spec.id: b for b in live}
    out = [exchange_of(plan, home[u.bucket], u, setting, ways, ready) for u in launched]
    if plan.subject in (Subject.MODEL, Subject.UPDATE) or not setting.machine.votes:
        return out
    rides = plan.subject is Subject.GRADIENT and riders.carrier(plan, launched, live) is not None
    said = {name for b in live for name in b.spec.names}
    model = replace(model, weights=tuple(w for w in model.weights if w.name in said))
    return with_riders(out, model, setting.machine, ways, rides=rides)


def with_riders(
    out: list[Exchange], model: ModelTable, machine: Machine, ways: Collectives, *, rides: bool
) -> list[Exchange]:
    """The vote and running statistics (riders.py): at the end of the last message, or in one or two of their own."""
    flags, statistics = 8 * len(model.weights), 4 * model.statistics
    if rides:
        more = ways.round((_sum(out[-1].nbytes + flags + statistics, machine, ways),))
        wires = (*out[-1].wires[:-1], _later(more, machine.sum_wait_s))
        return [*out[:-1], replace(out[-1], wires=wires)]
    if statistics > riders.FEW_BYTES:
        return [_rider("running statistics", statistics, 0, machine, ways), *out, _vote(flags, model, machine, ways)]
    return [*out, _vote(flags + statistics, model, machine, ways)]


def _vote(nbytes: int, model: ModelTable, machine: Machine, ways: Collectives) -> Exchange:
    return _rider("vote", nbytes, len(model.weights), machine, ways)


def _rider(name: str, nbytes: int, last: int, machine: Machine, ways: Collectives) -> Exchange:
    wire = _later(ways.round((_sum(nbytes, machine, ways),)), machine.sum_wait_s)
    return Exchange(name, (machine.exchange_s, 0.0), (wire,), last, nbytes, ("declared",))


def _sum(nbytes: int, machine: Machine, ways: Collectives) -> Asked:
    """As the replica asks for it, and DDP does not: small ones are gathered."""
    gathered = machine.votes and gathers(ways.topology, nbytes, ways.world)
    return Asked(Kind.GATHER if gathered else Kind.REDUCE, nbytes)


def exchange_of(
    plan: Plan, b: Bucket, unit: Unit, setting: Setting, ways: Collectives, ready: dict[str, int]
) -> Exchange:
    machine, world, spec = setting.machine, setting.world, unit.spec
    if isinstance(plan.topology, Gossip):
        asks = _gossip(plan, plan.topology, b, world)
    elif b.plain:
        asks = Told(((_sum(spec.nbytes, machine, ways),),), "declared")
    else:
        asks = told(b.compress, spec, plan.topology, world)
    said, heard = _update(b, asks, world) if plan.subject is Subject.UPDATE else (0.0, 0.0)
    cpu = list(machine.seconds(b.compress, spec, asks, Seat(0, world, plan.topology)))
    cost = LaneCost(wait_s=machine.sum_wait_s) if b.plain else machine.lane_cost(asks)
    cpu[0] += machine.touch_s * spec.nbytes + machine.exchange_s + cost.cpu_s
    rounds = [ways.update(said, heard)] if plan.subject is Subject.UPDATE else [ways.round(r) for r in asks.rounds]
    wires = tuple(_later(wire, cost.wait_s * (not i)) for i, wire in enumerate(rounds))
    last = max(ready[name] for name in b.spec.names)
    notes = (asks.how, *ways.bounds(asks.rounds))
    return Exchange(spec.names[0], tuple(cpu), wires, last, spec.nbytes, notes, said, heard)


def _update(b: Bucket, asks: Told, world: int) -> tuple[float, float]:
    """Bytes of an update, and of what is read back: of sparse ones all that others have changed, or all."""
    said = sum(ask.nbytes for asked in asks.rounds for ask in asked)
    return said, min(float(b.spec.nbytes), world * said) if is_sparse(b.compress) else said


def _later(wire: Wire, wait_s: float) -> Wire:
    return wire._replace(latency_s=wire.latency_s + wait_s)


def _gossip(plan: Plan, topology: Gossip, b: Bucket, world: int) -> Told:
    """A message to each neighbour: as the mixing says it, or written by the bucket's compressor."""
    peers = topology.graph.settle(world).messages(world)
    by = mixed_by(topology, plan.compress, b)
    if b.plain:
        return Told(((Asked(Kind.POST, by.plain_bytes(b.spec) + HEADER_BYTES, peers),),), "declared")
    nbytes, how = letter_bytes(b.compress, by, b.spec)
    lengths = (Asked(Kind.POST, 8, peers),)
    return Told(((*[lengths] * (how != "declared"), (Asked(Kind.POST, nbytes, peers),))), how)

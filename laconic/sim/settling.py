"""A measured schedule in virtual time: every way that pilot would try is played, and the one it would keep stands.

barrier    as any other schedule (step.py), in the buckets that were worked out
crossing   several steps in a row (crossing.py), the last of which count; drawn is the very last
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from torch import nn

from laconic import buckets as cutting
from laconic.buckets import Bucket, Unit
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.units import seconds_text
from laconic.drive.asked import Asked, Kind
from laconic.plan import Plan
from laconic.schedule import Profile, Tac
from laconic.schedule.queueing import Message, launch_order
from laconic.sim import measured
from laconic.sim.collective import Collectives
from laconic.sim.crossing import STEPS, Passage, Work, settled_s, train
from laconic.sim.drawing import between
from laconic.sim.exchanges import Exchange, Setting, exchange_of, turn_of, with_riders
from laconic.sim.fluid import Fluid, Gate
from laconic.sim.lanes import MAIN, Step, afterwards, lane, overlapped, report
from laconic.sim.measured import Way
from laconic.topology import AllReduce
from laconic.topology.programs import HALVES_BY

MOST_CLAIMS = 64  # parameters that tac compares one by one, each with each, again and again
LONG_S = 1e6

Play = Callable[[float, float], Step]  # by slowdown and seconds alone


@dataclass(frozen=True)
class Settled:
    items: list[Exchange]
    play: Play
    note: str


def settle(plan: Plan, setting: Setting, costs: Collectives) -> Settled:
    if isinstance(plan.schedule, Tac) and len(setting.model.weights) > MOST_CLAIMS:
        raise PlanError(
            f"{plan.schedule}: an order of {len(setting.model.weights)} parameters by times takes minutes to work out, "
            f"{MOST_CLAIMS} are the most. Simulate tic({plan.schedule.bucket}), which orders them by first use."
        )
    seen = measured.profile(setting.model, setting.machine.cores, partial(_cost_s, plan, setting, costs))
    ways = measured.ways(plan, setting.model, seen)
    plays = [_play(plan, setting, costs, way, seen) for way in ways]
    times = [play(1.0, 0.0).seconds for _, play in plays]
    best = measured.chosen(times)
    items, play = plays[best]
    tried = "; ".join(f"{w.label}: {seconds_text(s)}" for w, s in zip(ways, times, strict=True))
    note = f"{plan.schedule}: {ways[best].label}" + (f", after a trial ({tried})" if len(ways) > 1 else "")
    return Settled(items, play, note)


def _cost_s(plan: Plan, setting: Setting, costs: Collectives, nbytes: int) -> float:
    """Of one exchange while a core computes, as laconic/pricing.py measures it."""
    numel = nbytes // 4
    spec = BucketSpec(0, ("probe",), ((numel // 16, 16),))
    bucket = Bucket(spec, [nn.Parameter()], plan.compress, setting.world)
    one = exchange_of(plan, bucket, Unit(0, -1, 0, numel, spec), setting, costs, {"probe": 0})
    spans = afterwards([one], setting, LONG_S).spans
    return max((span.end for span in spans if span.actor != MAIN), default=0.0)


def _play(plan: Plan, setting: Setting, costs: Collectives, way: Way, seen: Profile) -> tuple[list[Exchange], Play]:
    model = setting.model
    buckets = cutting.cut(model.parameters, way.schedule, plan.compress, setting.world, {}, way.runs)
    units = cutting.units(buckets, way.schedule.chunk_bytes)
    urgent = measured.urgency(way, cutting.items(model.parameters, plan.compress, {}), seen)
    if (way.crosses or way.ordered) and not way.schedule.halves:
        units = _by_priority(units, buckets, urgent, way, seen)
    if way.crosses:
        made = _Crossing(plan, setting, costs, way, buckets, units, urgent)
        return made.items, made.step
    items = turn_of(plan, setting, costs, buckets, units)
    return items, lambda slowdown, alone: overlapped(plan, setting, items, slowdown, alone)


def _by_priority(
    units: Sequence[Unit], buckets: Sequence[Bucket], urgent: Sequence[int], way: Way, seen: Profile
) -> list[Unit]:
    ready = [max(seen.ready_s[i] for i in run) for run in way.runs]
    size = [b.spec.dtype.itemsize for b in buckets]
    messages = [Message(ready[u.bucket], (u.stop - u.start) * size[u.bucket], urgent[u.bucket]) for u in units]
    credit = way.schedule.credit_bytes or max((m.nbytes for m in messages), default=1)
    return [units[i] for i in launch_order(messages, seen.cost, credit)]


class _Crossing:
    def __init__(
        self,
        plan: Plan,
        setting: Setting,
        costs: Collectives,
        way: Way,
        buckets: Sequence[Bucket],
        units: Sequence[Unit],
        urgent: Sequence[int],
    ) -> None:
        self.setting, self.buckets, self.units = setting, buckets, units
        self.lanes = measured.width(way, setting.machine.lanes)
        ready = {w.name: w.ready for w in setting.model.weights}
        whole = [exchange_of(plan, buckets[u.bucket], u, setting, costs, ready) for u in units]
        halves = way.schedule.halves
        self.firsts, self.seconds = whole, list[Exchange]()
        if halves:
            by = replace(costs, topology=AllReduce(HALVES_BY), measured={})
            plain = [buckets[u.bucket].plain for u in units]
            pairs = [_halved(x, setting, by, is_plain=p) for x, p in zip(whole, plain, strict=True)]
            self.firsts, self.seconds = [a for a, _ in pairs], [b for _, b in pairs]
        self.second_order = sorted(range(len(units)), key=lambda i: (urgent[units[i].bucket], units[i].spec.id))
        self.riders = (
            with_riders([], setting.model, setting.machine, costs, rides=False) if setting.machine.votes else []
        )
        self.items = [*self.firsts, *self.seconds, *self.riders]

    def step(self, slowdown: float, alone: float) -> Step:
        machine, model = self.setting.machine, self.setting.model
        fluid, ends = Fluid(machine.cores, machine.overlap), list[float]()
        passages = [self._passage() for _ in range(STEPS)]
        numels = [b.spec.numel for b in self.buckets]
        work = Work(
            model,
            slowdown,
            [item.last for item in self.firsts],
            {name: b.spec.id for b in self.buckets for name in b.spec.names},
            [n / max(1, sum(numels)) for n in numels],
            machine.step_s,
        )
        fluid.add(MAIN, train(fluid, work, passages, ends))
        for number in range(self.lanes):
            mine = [entry for passage in passages for entry in self._queue(passage, number)]
            fluid.add(f"lane {number}", lane(fluid, machine, mine))
        aside = [entry for p in passages for entry in self._aside(p)]
        fluid.add("side", lane(fluid, machine, aside))
        fluid.run()
        seen = report(fluid, self.items, settled_s(ends), alone)
        return replace(seen, spans=between(seen.spans, *ends[-2:]))

    def _passage(self) -> Passage:
        arrived: list[list[Gate]] = [[] for _ in self.buckets]
        for unit in self.units:
            arrived[unit.bucket].append(Gate())
        return Passage([Gate() for _ in self.units], arrived, judged=[Gate() for _ in self.riders])

    def _queue(self, passage: Passage, number: int) -> list[tuple[Exchange, Gate, Gate]]:
        """What a lane does in a step: its messages, then (halves) the rest of each in the order of first use."""
        left = [iter(gates) for gates in passage.arrived]
        done = [next(left[u.bucket]) for u in self.units]
        mine = [i for i in range(len(self.units)) if i % self.lanes == number]
        if not self.seconds:
            return [(self.firsts[i], passage.launched[i], done[i]) for i in mine]
        firsts = [(self.firsts[i], passage.launched[i], Gate()) for i in mine]
        return firsts + [
            (self.seconds[i], passage.ended, done[i]) for i in self.second_order if i % self.lanes == number
        ]

    def _aside(self, passage: Passage) -> list[tuple[Exchange, Gate, Gate]]:
        return [(rider, passage.ended, gate) for rider, gate in zip(self.riders, passage.judged, strict=True)]


def _halved(item: Exchange, setting: Setting, by: Collectives, *, is_plain: bool) -> tuple[Exchange, Exchange]:
    """A sum: reduce-scatter and all-gather; anything else: its first round and what is left."""
    if not is_plain:
        return replace(item, cpu_s=(item.cpu_s[0], 0.0), wires=item.wires[:1]), replace(
            item, cpu_s=item.cpu_s[1:], wires=item.wires[1:]
        )
    both = by.round((Asked(Kind.REDUCE, item.nbytes),))
    half = type(both)(*(x / 2 for x in both))
    half = half._replace(latency_s=half.latency_s + setting.machine.sum_wait_s)
    return replace(item, cpu_s=(item.cpu_s[0], 0.0), wires=(half,)), replace(
        item, cpu_s=(0.0, item.cpu_s[-1]), wires=(half,)
    )

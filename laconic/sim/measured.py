"""Schedules that are settled by measured steps, here by the model's own times (laconic/pilot.py does it live).

profile    ready times: backward gradient by gradient; first use and forward as the model has them; the cost curve:
           one exchange of each of pilot's sizes while a core computes
ways       what pilot would try: number 0 is what it would use anyhow (DDP's buckets), the last what was worked out
chosen     the fastest; number 0 unless it is clearly beaten (schedule/halving.py). With guard=off, or where a
           compressor remembers by bucket, what was worked out is used without a trial
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from laconic import buckets as cutting
from laconic.compress import AbstractCompressor
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Seat
from laconic.core.state import to_dict
from laconic.plan import Plan
from laconic.pricing import SIZES
from laconic.schedule import AbstractSchedule, Fused, Item, Profile
from laconic.schedule.curve import steady
from laconic.schedule.halving import CLEARLY
from laconic.sim.model import ModelTable
from laconic.topology import AbstractTopology, AllReduce

Runs = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Way:
    """One way to order messages. `runs`: buckets as numbers of parameters; `ordered`: by what is needed first?"""

    label: str
    schedule: AbstractSchedule
    runs: Runs
    crosses: bool
    ordered: bool = False


def profile(model: ModelTable, cores: float, cost_s: Callable[[int], float]) -> Profile:
    """`cost_s`: of an exchange of so many bytes."""
    share = 1.0 / min(1.0, cores)
    by_ready = sorted(model.weights, key=lambda w: w.ready)
    ends = dict(zip((w.name for w in by_ready), accumulate(w.backward_s * share for w in by_ready), strict=True))
    first = min(ends.values())
    gates = sorted({w.first_use for w in model.weights})
    number = {gate: i for i, gate in enumerate(gates)}
    return Profile(
        tuple(ends[w.name] - first for w in model.weights),
        tuple(number[w.first_use] for w in model.weights),
        tuple(sum(w.forward_s * share for w in model.weights if w.first_use == gate) for gate in gates),
        steady(SIZES, [cost_s(nbytes) for nbytes in SIZES]),
    )


def ways(plan: Plan, model: ModelTable, seen: Profile) -> list[Way]:
    """What is tried, in pilot's order; one: it is used without a trial."""
    schedule = plan.schedule
    items = cutting.items(model.parameters, plan.compress, {})
    remembered = remembers(plan.compress, plan.topology)
    usual = Way("fused", Fused(), _tuples(Fused().cut(items)), crosses=False)
    if schedule.crosses and not isinstance(plan.topology, AllReduce):  # servers finish exchanges together
        return [Way(str(schedule), schedule, _tuples(schedule.cut(items)), crosses=False, ordered=True)]
    tried = [_worked_out(s, items, seen, remembered=remembered) for s in schedule.candidates() or (schedule,)]
    if (remembered and schedule.recuts) or (not schedule.guarded and len(tried) == 1):
        return tried
    if not schedule.crosses:
        return [usual, *tried]
    if remembered:
        return [Way("barrier", schedule, tried[0].runs, crosses=False), *tried]
    if len(tried) > 1:
        return [usual, *tried]
    barrier = _worked_out(schedule.barrier(), items, seen, remembered=False)
    barrier = Way("barrier", barrier.schedule, barrier.runs, crosses=False)
    return [usual, *([] if barrier.runs == usual.runs else [barrier]), *tried]


def chosen(seconds: Sequence[float]) -> int:
    return min(range(len(seconds)), key=lambda i: (seconds[i] * (1 if i else CLEARLY), i))


def urgency(way: Way, items: Sequence[Item], seen: Profile) -> list[int]:
    """Of each bucket: that of its most urgent parameter."""
    by_item = way.schedule.urgency(items, seen) or [0] * len(items)
    return [min(by_item[i] for i in run) for run in way.runs]


def width(way: Way, lanes: int) -> int:
    """Lanes in use, as pilot has it."""
    credit, chunk = way.schedule.credit_bytes, way.schedule.chunk_bytes
    return lanes if credit is None or chunk is None else max(1, min(lanes, credit // chunk))


def remembers(compress: AbstractCompressor, topology: AbstractTopology) -> bool:
    """By bucket, so that buckets cannot change midway; dampings and empty memories do not count."""
    state = compress.init(BucketSpec(0, ("x",), ((40, 250),)), Seat(0, 2, topology))
    return any(t.numel() > 1 for t in to_dict(state).values())


def _worked_out(schedule: AbstractSchedule, items: Sequence[Item], seen: Profile, *, remembered: bool) -> Way:
    stays = remembered and not schedule.recuts
    runs = schedule.cut(items) if stays else schedule.recut(items, seen) or schedule.cut(items)
    return Way(str(schedule), schedule, _tuples(runs), crosses=schedule.crosses)


def _tuples(runs: Sequence[Sequence[int]]) -> Runs:
    return tuple(map(tuple, runs))

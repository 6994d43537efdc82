"""The plan that is at work in a step of a training, for those that are not the same in all steps.

    post_local(n, h)         bsp in the first n steps, then local(h)
    adacomm, lupa            local(h): as often as the loss has them talk by now
    warmup, dense_first      whoever is at work in this turn; a wrapper of one who says everything says everything

What `accordion` and `cgx` make of their messages while they train is not followed: they are timed as they begin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

from laconic.compress import AbstractCompressor, Identity
from laconic.compress.phased import AbstractPhased
from laconic.plan import Plan
from laconic.sim.exchanges import Setting
from laconic.sim.pace import Pace, pace
from laconic.sim.stragglers import Stragglers
from laconic.sync import BSP, AbstractAdaptive, AbstractSync, Local, PostLocal, Subject
from laconic.topology import AbstractTopology, AllReduce, ParameterServer

Price = Callable[[Plan], float]


def at_work(plan: Plan, step: int, turn: int, period: int) -> Plan:
    """In this step (the first is 1), after `turn` exchanges; `period`: steps between rounds that follow the loss."""
    sync, compress = _sync(plan.sync, step, period), _compress(plan.compress, turn)
    if sync == plan.sync and compress == plan.compress:
        return plan
    topology = plan.topology if compress.routed else _unrouted(plan.topology)
    return replace(plan, sync=sync, compress=compress, topology=topology)


class Prices:
    """What a step takes under the plan that is at work; each is simulated once."""

    def __init__(self, setting: Setting, stragglers: Stragglers) -> None:
        self._setting, self._stragglers = setting, stragglers
        self._known: dict[Plan, Pace] = {}

    def __call__(self, now: Plan) -> float:
        if now not in self._known:
            self._known[now] = pace(now, self._setting, self._stragglers)
        return self._known[now].seconds

    @property
    def notes(self) -> list[str]:
        """Of all that were asked for."""
        return list(dict.fromkeys(note for seen in self._known.values() for note in seen.step.notes))


def _sync(sync: AbstractSync, step: int, period: int) -> AbstractSync:
    if isinstance(sync, PostLocal):
        return BSP() if sync.subject_at(step) is Subject.GRADIENT else Local(sync.h, sync.outer)
    return Local(period) if isinstance(sync, AbstractAdaptive) else sync


def _compress(compress: AbstractCompressor, turn: int) -> AbstractCompressor:
    if isinstance(compress, AbstractPhased):
        return _compress(compress.at(turn), turn)
    values = {f.name: getattr(compress, f.name) for f in fields(compress)}  # type: ignore[arg-type]  # concrete ones are dataclasses
    parts = {name: part for name, part in values.items() if isinstance(part, AbstractCompressor)}
    changed = {name: now for name, part in parts.items() if (now := _compress(part, turn)) != part}
    if len(parts) == 1 and Identity() in changed.values():
        return Identity()
    return replace(compress, **changed) if changed else compress  # type: ignore[type-var]


def _unrouted(topology: AbstractTopology) -> AbstractTopology:
    """What can be summed has no other way."""
    match topology:
        case AllReduce():
            return replace(topology, route_by="auto")
        case ParameterServer():
            return replace(topology, reply="auto")
        case _:
            return topology

"""Plans whose workers do not wait for everybody, raced through their servers message by message (race.py).

    a turn      compute `every` steps, write the update, push, pull, read what came       step = end of the race / steps
    asp, ssp    the mean worker's
    r2sp        the same; servers take updates in in turn (taking.py)
    backup(b)   of the shared model, which does not wait for the b last

How long writing and reading takes is a turn's own coding, two lanes at a time, as after any other step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from laconic.sim.hearing import Floats
from laconic.sim.lanes import afterwards
from laconic.sim.race import race
from laconic.sim.step import Stepper
from laconic.sim.taking import InRounds, InTurn, Taking
from laconic.sim.wire import NOTHING
from laconic.sync import AbstractShared, shared
from laconic.topology import ParameterServer

FEWEST_TURNS = 3
MESSAGES = 350_000  # of a race; more servers and workers are raced for fewer turns
MOST = 400_000


def unraced(stepper: Stepper) -> str | None:
    """Why this plan cannot be raced, and what can."""
    sync, servers = _parts(stepper)
    if sync.grace_s:
        return f"{sync}: a window for late updates is not raced. Simulate backup({sync.backup})."
    world, each = stepper.setting.world, _messages(stepper)
    if each * FEWEST_TURNS > MOST:
        return (
            f"'{sync} / {servers}': {each:,} messages a step of {world} workers are not raced one by one. Simulate "
            f"fewer workers, or fewer servers."
        )
    return None


def raced_turns(stepper: Stepper, turns: int, races: int = 1) -> int:
    """As many of these as are raced, where there are so many races."""
    return min(turns, max(FEWEST_TURNS, MESSAGES // (races * _messages(stepper))))


def raced(stepper: Stepper, sums: Floats) -> float:
    """Seconds a step of the mean worker: a slow one delays itself, and others as far as the bound says. `sums`: of the
    factors of a turn's steps, turns x workers."""
    setting, (sync, servers) = stepper.setting, _parts(stepper)
    world, steps = setting.world, len(sums) * stepper.every
    computing = stepper.alone() * sums
    through = race(
        computing + _coding_s(stepper),
        sum(item.said for item in stepper.items),
        setting.network,
        servers.owners(world),
        sync.bound if sync.order == shared.IN_ANY_ORDER else None,
        reply_bytes=sum(item.heard for item in stepper.items),
        taking=_taking(sync, world),
        hosts=range(world) if servers.layout == "colocated" else None,
    )
    if sync.order == shared.IN_ROUNDS:  # when the shared model was through, not those whose steps were dropped
        seconds = float(np.sort(through)[world - sync.backup - 1]) / steps
    else:
        seconds = float(through.mean()) / steps
    waited = max(0.0, seconds - float(computing.mean()) / stepper.every)
    return seconds + stepper.cold_s(waited)


def _coding_s(stepper: Stepper) -> float:
    """Of a turn, and whatever else it costs a core."""
    silent = [replace(item, wires=(NOTHING,) * len(item.wires)) for item in stepper.items]
    machine = stepper.setting.machine
    return afterwards(silent, stepper.setting).seconds + machine.step_s / min(1.0, machine.cores)


def _messages(stepper: Stepper) -> int:
    """Of a turn."""
    world = stepper.setting.world
    return 2 * world * _parts(stepper)[1].owners(world)


def _parts(stepper: Stepper) -> tuple[AbstractShared, ParameterServer]:
    sync, topology = stepper.plan.sync, stepper.plan.topology
    assert isinstance(sync, AbstractShared), "whose subject updates are"
    assert isinstance(topology, ParameterServer), "others are refused (turns.py)"
    return sync, topology


def _taking(sync: AbstractShared, world: int) -> Taking | None:
    match sync.order:
        case shared.IN_TURN:
            return InTurn(world)
        case shared.IN_ROUNDS:
            return InRounds(world, sync.backup)
        case _:
            return None

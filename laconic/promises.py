"""What a plan promises, in words: the most work a fault can cost, how stale models may be, if replicas are equal."""

from __future__ import annotations

from dataclasses import dataclass

from laconic.compress.base import AbstractCompressor
from laconic.compress.laq import LAQ
from laconic.sync import (
    ASP,
    BSP,
    AbstractAdaptive,
    AbstractLazy,
    AbstractRounds,
    AbstractSync,
    Backup,
    Blocks,
    Local,
    PostLocal,
)
from laconic.sync.shared import IN_TURN, AbstractShared
from laconic.topology import AbstractTopology, Gossip

SILENT = "a silent worker's gradient is at most {} steps old"


@dataclass(frozen=True)
class Promises:
    lost: str  # at most, when a worker dies
    staleness: str
    replicas: str

    def __str__(self) -> str:
        return "\n".join(
            [
                f"  if a worker dies   {self.lost}",
                f"  staleness          {self.staleness}",
                f"  replicas           {self.replicas}",
            ]
        )


def promises(sync: AbstractSync, topology: AbstractTopology, compress: AbstractCompressor) -> Promises:
    if isinstance(topology, Gossip):
        return _gossip(sync, topology)
    traits, staleness = sync.traits(), _staleness(sync)
    if patience := _patience(compress):
        silent = SILENT.format(patience)
        staleness = silent if isinstance(sync, BSP) else f"{staleness}; {silent}"
    return Promises(_lost(sync, str(traits["lost_on_fault"])), staleness, str(traits["replicas"]))


def _patience(compress: AbstractCompressor) -> int:
    """For so many steps a worker may let its last message stand."""
    if isinstance(compress, LAQ):
        return compress.patience
    return max(map(_patience, compress.parts), default=0)


def _lost(sync: AbstractSync, most: str) -> str:
    if isinstance(sync, AbstractShared):
        return f"lost: {most}; the others are told and stop, the shared model keeps what was said"
    return f"lost: {most}; the others are told and stop, nothing half done is kept"


def _staleness(sync: AbstractSync) -> str:
    match sync:
        case AbstractLazy():
            return SILENT.format(getattr(sync, "patience", 0))
        case PostLocal():
            return f"none until step {sync.after}, then workers are up to {sync.h} steps on their own"
        case AbstractAdaptive():
            return "none in a round; between rounds workers are on their own for as long as the loss allows"
        case AbstractRounds():
            return _rounds(sync)
        case AbstractShared():
            return _shared(sync)
        case _:
            return _steps(sync)


def _steps(sync: AbstractSync) -> str:
    if isinstance(sync, Blocks) and sync.delay:
        return "every gradient is applied one step late"
    return "none: every step uses gradients at the newest model" if sync.talks(1) else "without bound"


def _rounds(sync: AbstractRounds) -> str:
    if sync.lag:
        return f"what others did is heard {sync.lag} steps late"
    return "none in a round; between rounds workers are on their own"


def _shared(sync: AbstractShared) -> str:
    if isinstance(sync, Backup):
        return f"none: what is not computed from the newest model is dropped, at most {sync.b} workers a step"
    if sync.order == IN_TURN:
        return "each update is one of every other worker old"
    if sync.bound is not None:
        return f"nobody begins a step more than {sync.bound} ahead of the slowest; checked at every reading"
    limit = f"; an update more than {sync.limit} versions old is dropped" if sync.limit is not None else ""
    return f"no bound: nobody waits{limit}"


def _gossip(sync: AbstractSync, topology: Gossip) -> Promises:
    every = sync.h if isinstance(sync, Local) else 1
    lost = "lost: that worker's model; the others are told and stop, each with its own"
    if topology.by.waits:
        staleness = "neighbours are heard in every round, others by way of them"
        replicas = (
            f"close but not equal, mixed every {'step' if every == 1 else f'{every} steps'}; equal after average()"
        )
        return Promises(lost, staleness, replicas)
    bound = sync.bound if isinstance(sync, AbstractShared) else None
    staleness = "no bound: nobody waits"
    if bound is not None:
        staleness = f"nobody begins a step more than {bound} ahead of a neighbour; checked in every step"
    assert isinstance(sync, BSP | Local | ASP | AbstractShared), "see Plan"
    return Promises(lost, staleness, "close but not equal; equal after average()")

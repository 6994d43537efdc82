"""Steps that end during the next forward pass (laconic/crossing.py), several in a row, so that they settle.

forward    before a parameter is used for the first time, its bucket has arrived and takes its own update
backward   messages leave in the order that was worked out; whatever was not used takes its update before
vote       beside the lanes; the step waits for it alone
halves     reduce-scatter (or a compressor's first round) in that order; the rest of each when backward has ended,
           in the order of first use, on the same lane
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from laconic.sim.fluid import Actor, Fluid, Gate, Need, On
from laconic.sim.model import ModelTable

STEPS = 6
WARM = 3  # steps until they repeat


@dataclass
class Passage:
    """The gates of one step."""

    launched: list[Gate]
    arrived: list[list[Gate]]  # by bucket
    ended: Gate = field(default_factory=Gate)  # backward
    judged: list[Gate] = field(default_factory=list)  # the vote and what comes with it


@dataclass(frozen=True)
class Work:
    """Of one worker: `lasts` of its messages, in launch order, as places in the order of backward."""

    model: ModelTable
    slowdown: float
    lasts: Sequence[int]
    homes: Mapping[str, int]  # the bucket of each parameter
    shares: Sequence[float]  # of each bucket, of the model's elements
    more_s: float  # whatever else a step costs


def train(fluid: Fluid, work: Work, passages: Sequence[Passage], ends: list[float]) -> Actor:
    """`ends`: filled with the moments at which steps end."""
    model, slowdown = work.model, work.slowdown
    before: Passage | None = None
    for passage in passages:
        left = set(range(len(work.shares))) if before is not None else set()
        yield Need(On.COMPUTE, model.other_s * slowdown, "other")
        for w in sorted(model.weights, key=lambda w: w.first_use):
            if work.homes[w.name] in left and before is not None:
                left.discard(work.homes[w.name])
                yield from _update(work, before, work.homes[w.name])
            yield Need(On.COMPUTE, w.forward_s * slowdown, f"forward {w.name}")
        for bucket in sorted(left):
            assert before is not None, "something is left"
            yield from _update(work, before, bucket)
        yield from _backward(fluid, work, passage)
        yield from passage.judged
        yield Need(On.COMPUTE, work.more_s, "step")
        ends.append(fluid.now)
        before = passage


def _update(work: Work, before: Passage, bucket: int) -> Actor:
    yield from before.arrived[bucket]
    yield Need(On.COMPUTE, work.model.update_s * work.shares[bucket] * work.slowdown, "update")


def _backward(fluid: Fluid, work: Work, passage: Passage) -> Actor:
    launched = 0
    for w in sorted(work.model.weights, key=lambda w: w.ready):
        yield Need(On.COMPUTE, w.backward_s * work.slowdown, w.name)
        while launched < len(work.lasts) and work.lasts[launched] <= w.ready:
            fluid.open(passage.launched[launched])
            launched += 1
    for gate in (*passage.launched[launched:], passage.ended):
        fluid.open(gate)


def settled_s(ends: Sequence[float]) -> float:
    """Of a step, once they repeat."""
    return (ends[-1] - ends[WARM - 1]) / (len(ends) - WARM)

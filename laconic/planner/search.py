"""All plans worth a thought, predicted and ranked.

    lossless     the same mean as DDP's up to the order of additions: how sums travel, how gradients are fused and cut
    rounded      every number rounded to 16 bits
    unbiased     random, right on average
    biased + EF  wrong in each step, made good later by an error memory
    stale        models that differ for a while: local steps, gossip

A prediction is a simulated step (laconic.sim) from what was measured: the model's seconds on a core, the network's
tables, what each compressor costs a core. `ddp` stands among the candidates, and so does staying alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from laconic.buckets import SMALL, SMALL_VECTOR
from laconic.compress import Identity
from laconic.compress.base import NOMINAL
from laconic.core.errors import PlanError
from laconic.plan import Plan
from laconic.planner.network_file import NetworkTable
from laconic.sim.machine import Machine
from laconic.sim.model import ModelTable
from laconic.sim.network import Network
from laconic.sim.step import Setting, Step, fits, simulate
from laconic.sync import Subject
from laconic.topology import Gossip

DDP = "ddp"
LONGEST_PATTERN = 400  # characters: a plan should still be readable


class Risk(Enum):
    """What a plan asks the model to bear, mildest first."""

    LOSSLESS = "lossless"
    ROUNDED = "rounded"
    UNBIASED = "unbiased"
    BIASED = "biased+EF"
    STALE = "stale"


LOSSLESS = (
    "none",
    "fused(bucket=4MiB)",
    "fused(bucket=100MiB)",
    "wfbp",
    "fifo(bucket=1GiB)",
    "allreduce(ring)",
    "allreduce(halving_doubling)",
    "allreduce(recursive_doubling)",
    "allreduce(double_tree)",
    "allreduce(torus)",
    "allreduce(hierarchical)",
    "allreduce(sra)",
    "ps(colocated)",
)
COMPRESSED = (
    "bf16",
    "fp16",
    "qsgd(bits=8)",
    "qsgd(bits=4)",
    "natural",
    "terngrad",
    "ef(sign)",
    "ef(qsgd(bits=4))",
    "ef(topk(0.1))",
    "ef(topk(0.01))",
    "ef(topk(0.001))",
    "ef(topk(0.01) | qsgd(bits=4) | golomb)",
    "ef(powersgd(1))",
    "ef(powersgd(2))",
    "ef(powersgd(4))",
    "ef(powersgd(8))",
)
RARE = ("local(4)", "local(8)", "local(32)")
GOSSIP = ("gossip(ring)", "gossip(one_peer_exp)", "gossip(exp)")


def compressors() -> list[str]:
    """Those whose cost for a core is worth measuring."""
    return list(COMPRESSED)


def candidates(*, lossy: bool) -> list[str]:
    """Plan texts, mildest first."""
    if not lossy:
        return list(LOSSLESS)
    both = [f"{when} / {what}" for when in RARE for what in ("bf16", "ef(powersgd(4))", "ef(topk(0.01))")]
    order = [f"{what} / fifo(bucket=1GiB)" for what in ("ef(sign)", "ef(topk(0.01))", "ef(powersgd(2))")]
    return [*LOSSLESS, *COMPRESSED, *order, *RARE, *both, *GOSSIP]


def risk(plan: Plan) -> Risk:
    if plan.subject in (Subject.DELTA, Subject.MODEL) or isinstance(plan.topology, Gossip):
        return Risk.STALE
    if plan.compress == Identity():
        return Risk.LOSSLESS
    traits = plan.compress.traits(NOMINAL)
    if str(plan.compress) in ("bf16", "fp16"):
        return Risk.ROUNDED
    return Risk.UNBIASED if traits.unbiased and not traits.remembers else Risk.BIASED


@dataclass(frozen=True)
class Found:
    """A candidate and what it would do."""

    text: str
    world: int
    risk: Risk
    step: Step
    single_s: float  # a step of one worker with a core (or device) to itself

    @property
    def speedup(self) -> float:
        """Samples per second over those of one worker with a whole core (or device) to itself."""
        return self.world * self.single_s / self.step.seconds

    @property
    def pays(self) -> bool:
        return self.speedup > 1.0


@dataclass(frozen=True)
class Planner:
    model: ModelTable
    network: Network
    machine: Machine
    table: NetworkTable | None = None

    def setting(self, world: int) -> Setting:
        if self.table is None:
            return Setting(self.model, self.network, world, self.machine)
        return Setting(self.model, self.network, world, self.table.machine(world), self.table.measured(world))

    def predict(self, text: str, world: int) -> Found | None:
        """None where so many workers cannot follow it."""
        plan = Plan() if text == DDP else Plan.parse(text)
        if fits(plan, world) is not None:
            return None
        setting = self.setting(world)
        if text == DDP:
            setting = replace(setting, machine=replace(setting.machine, votes=False))
        step = simulate(plan, setting)
        return Found(text, world, risk(plan), step, self.model.step_s)

    def _layer_by_layer(self, world: int, found: Sequence[Found]) -> list[Found]:
        """The best compressors again, with layers whose gradients come first left dense."""
        best = sorted((f for f in found if f.risk is Risk.BIASED), key=lambda f: f.step.seconds)[:3]
        texts = [_skipping(self.model, share, f.text) for f in best if "/" not in f.text for share in (0.3, 0.6)]
        return [
            seen
            for text in dict.fromkeys(texts)
            if text is not None and (seen := self.predict(text, world)) is not None
        ]

    def rank(self, world: int, texts: Iterable[str]) -> list[Found]:
        """Fastest first; of two within one percent the milder one."""
        found = []
        for text in dict.fromkeys([DDP, *texts]):
            try:
                seen = self.predict(text, world)
            except PlanError:
                seen = None  # this plan cannot be for this model
            if seen is not None:
                found.append(seen)
        found += self._layer_by_layer(world, found)
        order = list(Risk)
        found.sort(key=lambda f: (round(f.step.seconds, 12), order.index(f.risk), f.text != DDP))
        return _milder_first(found, order)


def _skipping(model: ModelTable, share: float, compress: str) -> str | None:
    """Leave dense what is ready first, up to this share of the bytes: it travels while backward goes on."""
    early = sorted((w for w in model.weights if not _is_small(w.shape)), key=lambda w: w.ready)
    allowed, names = share * sum(w.numel for w in early), []
    for w in early:
        allowed -= w.numel
        if allowed < 0:
            break
        names.append(w.name)
    pattern = f"^({'|'.join(names)})$"
    if not names or len(names) == len(early) or len(pattern) > LONGEST_PATTERN or "'" in pattern:
        return None
    return f"filtered({compress}, deny='{pattern}')"


def _is_small(shape: tuple[int, ...]) -> bool:
    return math.prod(shape) < (SMALL if len(shape) >= 2 else SMALL_VECTOR)


def planner_of(model: ModelTable, table: NetworkTable) -> Planner:
    return Planner(model, table.network(), Machine(), table)


def _milder_first(found: Sequence[Found], order: Sequence[Risk]) -> list[Found]:
    """The first of those that are as fast as the fastest, to within one percent, is the mildest of them."""
    if not found:
        return []
    limit = 1.01 * found[0].step.seconds
    near = [f for f in found if f.step.seconds <= limit]
    best = min(near, key=lambda f: (order.index(f.risk), f.text not in (DDP, "none"), f.step.seconds))
    return [best, *(f for f in found if f is not best)]

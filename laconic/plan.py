"""A Plan: when workers talk, with whom, what they say, in what order.

    Plan.parse("local(8) / ef(topk(0.01) | qsgd(bits=4))")

The objects are the configuration: `eval(repr(plan)) == plan`, `Plan.parse(str(plan)) == plan`. Parts may stand in any
order, since names are unique over all folders; what is left out takes its default.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from laconic import baseline, presets
from laconic.coding import AbstractCoding
from laconic.components import build, from_dict, to_dict
from laconic.compress import AbstractCompressor, Identity, letters, solo
from laconic.core import grammar
from laconic.core.component import Component
from laconic.core.errors import PlanError
from laconic.promises import Promises, promises
from laconic.schedule import AbstractSchedule, Fused
from laconic.sync import ASP, BSP, CMFL, SSP, AbstractLazy, AbstractShared, AbstractSync, Local, Subject
from laconic.topology import AbstractTopology, AllReduce, Gossip, ParameterServer
from laconic.topology.mixing import ADChoco

SLOTS: dict[str, type[Component]] = {
    "sync": AbstractSync,
    "topology": AbstractTopology,
    "compress": AbstractCompressor,
    "schedule": AbstractSchedule,
}


@dataclass(frozen=True)
class Plan:
    sync: AbstractSync = field(default=BSP())
    topology: AbstractTopology = field(default=AllReduce())
    compress: AbstractCompressor = field(default=Identity())
    schedule: AbstractSchedule = field(default=Fused())

    def __post_init__(self) -> None:
        for slot, kind in SLOTS.items():
            if not isinstance(getattr(self, slot), kind):
                raise PlanError(f"Plan({slot}={getattr(self, slot)!r}): not a {slot} component.")
        self._check_silence()
        if isinstance(self.topology, Gossip):
            self._check_gossip(self.topology)
        elif isinstance(self.sync, AbstractLazy | CMFL):
            letters.check_alone(self.compress, str(self.sync))
        elif isinstance(self.sync, AbstractShared):
            self._check_shared(self.sync)
        self._check_route()
        self._check_schedule()

    def _check_silence(self) -> None:
        for part, usual in ((self.compress, Identity()), (self.topology, AllReduce()), (self.schedule, Fused())):
            if self.sync.subject is Subject.NOTHING and part != usual:
                raise PlanError(f"Plan: {self.sync} says nothing, so {part} would have no effect. Leave it out.")

    def _check_route(self) -> None:
        option, sync = self.topology.told, self.sync
        one_by_one = isinstance(sync, AbstractShared) and isinstance(self.topology, ParameterServer)
        if option and (one_by_one or isinstance(sync, AbstractLazy | CMFL)):
            raise PlanError(
                f"Plan: under {sync} workers are heard one by one, so {option} would have no effect. Leave it out."
            )
        if option and not self.compress.routed:
            raise PlanError(
                f"Plan: {option} is for messages that cannot be summed and may go either way, which {self.compress} "
                f"does not write, so it would have no effect. Leave it out."
            )

    def _check_schedule(self) -> None:
        schedule, subject = self.schedule, self.subject
        if schedule.is_measured and (self.sync != BSP() or subject is not Subject.GRADIENT):
            raise PlanError(
                f"Plan: {schedule} is about gradients that all exchange in every step while backward makes more, which "
                f"'{self.sync} / {self.topology}' does not. Use fused, or bsp with allreduce or ps."
            )
        whole = subject in (Subject.MODEL, Subject.UPDATE) or isinstance(self.sync, AbstractLazy | CMFL)
        if schedule.chunk_bytes is not None and whole:
            raise PlanError(
                f"Plan: '{self.sync} / {self.topology}' says whole buckets, so {schedule} would cut nothing. Use fused."
            )
        if schedule.halves and not isinstance(self.topology, AllReduce):
            raise PlanError(
                f"Plan: {schedule} is an all-reduce in two halves, which {self.topology} is not. Use priority."
            )
        if schedule.recuts and self.compress.owns_momentum:
            raise PlanError(
                f"Plan: {schedule} merges gradients anew after a few steps, but {self.compress} has gathered momentum "
                f"by then. Use fused."
            )

    def _check_gossip(self, gossip: Gossip) -> None:
        letters.check(self.compress, gossip.by)
        alone = isinstance(self.sync, SSP) or self.sync == ASP()
        if alone and gossip.by.waits:
            raise PlanError(
                f"Plan: under {self.sync} nobody waits for a round, but {gossip.by.name} mixes in rounds. Use "
                f"gossip({gossip.graph}, adpsgd), or adchoco with a compressor."
            )
        if not alone and self.sync not in (BSP(), Local(getattr(self.sync, "h", 1))):
            raise PlanError(
                f"Plan: {gossip} mixes models after every step (bsp), every few (local(h)) or in pairs that do not "
                f"wait (ssp, asp), not {self.sync}."
            )
        if isinstance(gossip.by, ADChoco):
            solo.check(self.compress, gossip.by.name)

    def _check_shared(self, sync: AbstractShared) -> None:
        if isinstance(self.topology, ParameterServer):
            if self.topology.layout == "tree":
                raise PlanError(
                    f"Plan: {sync} keeps the model on servers, but those of {self.topology} only add up. Use ps or "
                    f"ps(colocated)."
                )
            solo.check(self.compress, str(sync))
        elif sync.only_servers or (isinstance(sync, ASP) and sync != ASP()):
            raise PlanError(f"Plan: {sync} needs a server that takes updates in. Add ps: '{sync} / ps'.")
        if self.compress.follows_pace:
            raise PlanError(
                f"Plan: under {sync} exchanges go on beside the steps, so there is no computing that {self.compress} "
                f"could hide them behind. Say how long one may take: paced(..., within=20)."
            )
        if self.compress.owns_momentum or self.compress.follows_lr:
            raise PlanError(
                f"Plan: {sync} says steps that the optimizer has taken, momentum and learning rate included, but "
                f"{self.compress} wants gradients. Use what is inside it, or ef(...)."
            )

    @property
    def subject(self) -> Subject:
        """What is talked about at first."""
        return self.subject_at(1)

    def subject_at(self, step: int) -> Subject:
        return Subject.MODEL if isinstance(self.topology, Gossip) else self.sync.subject_at(step)

    @property
    def adds_up(self) -> bool:
        """Is every exchange a single sum of gradients?"""
        sums = isinstance(self.topology, AllReduce) and self.compress == Identity()
        return sums and self.subject is Subject.GRADIENT and not isinstance(self.sync, AbstractLazy | CMFL)

    @property
    def promises(self) -> Promises:
        """The most that a fault can cost, how stale models may be, whether replicas are equal: in words."""
        return promises(self.sync, self.topology, self.compress)

    def __str__(self) -> str:
        return f"{self.sync} / {self.topology} / {self.compress} / {self.schedule}"

    @property
    def fingerprint(self) -> str:
        """16 hex digits that two plans share only if they are equal."""
        return hashlib.sha256(str(self).encode()).hexdigest()[:16]

    @classmethod
    def parse(cls, text: str) -> Plan:
        if isinstance(text, str) and not text.strip():
            raise PlanError("Plan: the text is empty. Write for example 'ef(topk(0.01))' or 'none'.")
        text = presets.expand(text) if isinstance(text, str) else text
        slots: dict[str, Component] = {}
        for node in grammar.parse(text):
            part = build(node, text)
            if isinstance(part, AbstractCoding):
                problem = f"{part} writes what another stage chose. Use for example {part.example}."
                raise grammar.point(text, node.start, len(part.name), problem)
            if part.folder not in SLOTS:
                inside = "local(8, outer=slowmo)" if part.folder == "outer" else "gossip(ring, choco)"
                kind = "an outer optimizer" if part.folder == "outer" else f"a {part.folder}"
                problem = f"{part} is {kind} inside {inside.partition('(')[0]}(...). Use for example {inside}."
                raise grammar.point(text, node.start, len(part.name), problem)
            if part.folder in slots:
                raise grammar.point(
                    text, node.start, 1, f"{part} is a second {part.folder} part beside {slots[part.folder]}."
                )
            slots[part.folder] = part
        return cls(**slots)  # type: ignore[arg-type]  # __post_init__ checks the kinds

    def to_json(self) -> str:
        return json.dumps({slot: to_dict(getattr(self, slot)) for slot in SLOTS})

    @classmethod
    def from_json(cls, text: str) -> Plan:
        try:
            data = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise PlanError(f"Plan: not JSON: {error}.") from error
        return cls.from_dict(data)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """From parsed JSON or TOML; slots may also hold plan text."""
        if not isinstance(data, Mapping):
            raise PlanError(f"Plan: expected an object with {', '.join(SLOTS)}, got {data!r}.")
        for key in data:
            if key not in SLOTS:
                raise PlanError(f"Plan: unknown key {key!r}.{grammar.near(str(key), SLOTS)}")
        return cls(**{slot: from_dict(value, slot) for slot, value in data.items()})


def check_text(text: str) -> str:
    """The canonical form of a plan or a baseline; PlanError where it is neither."""
    found = baseline.parse(text)
    return str(Plan.parse(text) if found is None else found)

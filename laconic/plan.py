"""A Plan: when workers talk, with whom, what they say, in what order.

    Plan.parse("local(8) / ef(topk(0.01) | qsgd(bits=4))")

The objects are the configuration: `eval(repr(plan)) == plan`, `Plan.parse(str(plan)) == plan`. Parts may stand in any
order, since names are unique over all folders; what is left out takes its default.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, get_type_hints

from laconic import baseline, presets
from laconic import coding as packed
from laconic import compress as what
from laconic import outer as then
from laconic import schedule as order
from laconic import sync as when
from laconic import topology as whom
from laconic.coding import AbstractCoding
from laconic.compress import AbstractCompressor, Chain, Coded, Identity, letters, solo
from laconic.core import grammar
from laconic.core.component import Component
from laconic.core.errors import PlanError
from laconic.promises import Promises, promises
from laconic.schedule import AbstractSchedule, Fused
from laconic.sync import ASP, BSP, CMFL, SSP, AbstractLazy, AbstractShared, AbstractSync, Local, Subject
from laconic.topology import AbstractTopology, AllReduce, Gossip, ParameterServer
from laconic.topology.mixing import ADChoco

COMPONENTS: dict[str, type[Component]] = {
    kind.name: kind for folder in (when, then, whom, what, packed, order) for kind in folder.ALL
}

_NAMELESS = (Chain, Coded)  # written with '|'


@dataclass(frozen=True)
class Plan:
    sync: AbstractSync = field(default=BSP())
    topology: AbstractTopology = field(default=AllReduce())
    compress: AbstractCompressor = field(default=Identity())
    schedule: AbstractSchedule = field(default=Fused())

    def __post_init__(self) -> None:
        for slot, kind in _slots().items():
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
            part = _build(node, text)
            if isinstance(part, AbstractCoding):
                problem = f"{part} writes what another stage chose. Use for example {part.example}."
                raise grammar.point(text, node.start, len(part.name), problem)
            if part.folder not in _slots():
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
        return json.dumps({slot: _to_dict(getattr(self, slot)) for slot in _slots()})

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
            raise PlanError(f"Plan: expected an object with {', '.join(_slots())}, got {data!r}.")
        for key in data:
            if key not in _slots():
                raise PlanError(f"Plan: unknown key {key!r}.{grammar.near(str(key), _slots())}")
        return cls(**{slot: _from_dict(value, slot) for slot, value in data.items()})


def _slots() -> dict[str, type[Component]]:
    return {
        "sync": AbstractSync,
        "topology": AbstractTopology,
        "compress": AbstractCompressor,
        "schedule": AbstractSchedule,
    }


def component(text: str) -> Component:
    """One component from its text: `component("qsgd(bits=4)")`."""
    nodes = grammar.parse(text)
    if len(nodes) != 1:
        raise grammar.point(text, nodes[1].start, 1, "expected a single component.")
    return _build(nodes[0], text)


def _build(node: grammar.Node, text: str) -> Component:
    match node:
        case grammar.Piped(stages=stages):
            return _piped([_build(stage, text) for stage in stages], node, text)
        case grammar.Call(name=name):
            kind = COMPONENTS.get(name.lower())
            if kind is None or kind in _NAMELESS:
                problem = f"unknown name {name!r}.{grammar.near(name, COMPONENTS.keys() - {k.name for k in _NAMELESS})}"
                raise grammar.point(text, node.start, len(name), problem)
            return _construct(kind, _arguments(kind, node, text), node, text)
        case grammar.Value(value=value):
            raise grammar.point(text, node.start, len(str(value)), f"expected an algorithm, got {value!r}.")


def _piped(stages: list[Component], node: grammar.Piped, text: str) -> Component:
    total = stages[0]
    for stage in stages[1:]:
        if not (isinstance(total, AbstractCompressor) and isinstance(stage, AbstractCompressor | AbstractCoding)):
            problem = f"'|' joins compressors and codings, not {total} and {stage}."
            raise grammar.point(text, node.start, 1, problem)
        if isinstance(stage, AbstractCoding):
            total = _construct(Coded, {"inner": total, "coding": stage}, node, text)
        else:
            total = _construct(Chain, {"first": total, "then": stage}, node, text)
    return total


def _arguments(kind: type[Component], call: grammar.Call, text: str) -> dict[str, Any]:
    names = _words(kind)
    known, hints = list(names), get_type_hints(kind)
    out: dict[str, Any] = {}
    for position, (key, node) in enumerate(call.args):
        if key is None and position >= len(known):
            most = f"{len(known)} values: {', '.join(known)}" if known else "no values"
            raise grammar.point(text, node.start, 1, f"{kind.name} takes {most}.")
        slot = known[position] if key is None else key.lower()
        if slot not in known:
            raise grammar.point(text, node.start, 1, f"{kind.name} has no {key!r}.{grammar.near(slot, known)}")
        if slot in out:
            raise grammar.point(text, node.start, 1, f"{kind.name} is given {slot!r} twice.")
        out[slot] = _convert(hints[names[slot]], node, text, f"{kind.name}({slot}=...)")
    return {names[slot]: value for slot, value in out.items()}


def _words(kind: type[Component]) -> dict[str, str]:
    """A component's arguments as texts spell them -> its fields, in order."""
    return {kind.spelled.get(f.name, f.name): f.name for f in fields(kind)}  # type: ignore[arg-type]  # dataclasses all


def _convert(hint: Any, node: grammar.Node, text: str, where: str) -> Any:
    if _is_part(hint):
        value: Any = _build(node, text)
    elif isinstance(node, grammar.Call) and not node.args:
        value = node.name
    else:
        value = node.value if isinstance(node, grammar.Value) else None
    try:
        return _fitting(hint, value)
    except PlanError as error:
        raise grammar.point(text, node.start, 1, f"{where} {error}") from error


def _is_part(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Component)


def _fitting(hint: Any, value: Any) -> Any:
    """The value as a field of this type holds it: 4.0 is a whole number, 1 a share, 1024 a size."""
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise PlanError("wants a smaller number.")
    if hint is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    if hint is float and isinstance(value, int):
        value = float(value)
    if hint is str and isinstance(value, int):
        value = str(value)
    if isinstance(value, hint) and not isinstance(value, bool):
        return value
    article = "an" if _is_part(hint) and hint.folder[0] in "aeiou" else "a"
    wanted = f"{article} {hint.folder} part" if _is_part(hint) else _WORDS.get(hint, hint)
    raise PlanError(f"wants {wanted}, got {str(value) if isinstance(value, Component) else repr(value)}.")


_LARGEST = 10**15
_WORDS = {int: "a whole number", float: "a number", str: "a word"}


def _construct(kind: type[Component], args: dict[str, Any], node: grammar.Node, text: str) -> Component:
    missing = [f.name for f in fields(kind) if f.default is MISSING and f.name not in args]  # type: ignore[arg-type]
    if missing:
        raise grammar.point(text, node.start, len(kind.name), f"{kind.name} needs {missing[0]!r}.")
    try:
        return kind(**args)
    except PlanError as error:
        raise grammar.point(text, node.start, 1, str(error)) from error


def _to_dict(part: Component) -> dict[str, Any]:
    out: dict[str, Any] = {"name": part.name}
    for word, name in _words(type(part)).items():
        value = getattr(part, name)
        out[word] = _to_dict(value) if isinstance(value, Component) else value
    return out


def _from_dict(value: Any, where: str) -> Any:
    if where.count(".") > grammar.DEEPEST:
        raise PlanError(f"Plan: more than {grammar.DEEPEST} parts inside each other.")
    if isinstance(value, str):
        return component(value)
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise PlanError(f"Plan: {where} should be text or an object with a 'name', got {value!r}.")
    kind = COMPONENTS.get(value["name"])
    if kind is None:
        raise PlanError(f"Plan: unknown name {value['name']!r}.{grammar.near(value['name'], COMPONENTS)}")
    hints, names, args = get_type_hints(kind), _words(kind), {}
    for key, given in value.items():
        if key == "name":
            continue
        if key not in names:
            raise PlanError(f"Plan: {kind.name} has no {key!r}.")
        hint = hints[names[key]]
        inner = _from_dict(given, f"{where}.{key}") if _is_part(hint) else given
        try:
            args[names[key]] = _fitting(hint, inner)
        except PlanError as error:
            raise PlanError(f"Plan: {where}.{key} {error}") from error
    try:
        return kind(**args)
    except (TypeError, OverflowError) as error:
        raise PlanError(f"Plan: {where}: {error}.") from error


def check_text(text: str) -> str:
    """The canonical form of a plan or a baseline; PlanError where it is neither."""
    found = baseline.parse(text)
    return str(Plan.parse(text) if found is None else found)

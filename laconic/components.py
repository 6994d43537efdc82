"""Components as texts and as JSON have them: `local(8)`, `{"name": "local", "h": 8}`.

Names are unique over all folders. Whatever is wrong with a text is told with a caret under the place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, get_type_hints

from laconic import coding as packed
from laconic import compress as what
from laconic import outer as then
from laconic import schedule as order
from laconic import sync as when
from laconic import topology as whom
from laconic.coding import AbstractCoding
from laconic.compress import AbstractCompressor, Chain, Coded
from laconic.core import grammar
from laconic.core.component import Component
from laconic.core.errors import PlanError

COMPONENTS: dict[str, type[Component]] = {
    kind.name: kind for folder in (when, then, whom, what, packed, order) for kind in folder.ALL
}

_NAMELESS = (Chain, Coded)  # written with '|'
_AUTO = (
    "Plan: auto is no plan but a search for one before training starts, as in `laconic run --plan auto train.py`, or "
    '"auto(lossy)".'
)


def component(text: str) -> Component:
    """One component from its text: `component("qsgd(bits=4)")`."""
    nodes = grammar.parse(text)
    if len(nodes) != 1:
        raise grammar.point(text, nodes[1].start, 1, "expected a single component.")
    return build(nodes[0], text)


def build(node: grammar.Node, text: str) -> Component:
    match node:
        case grammar.Piped(stages=stages):
            return _piped([build(stage, text) for stage in stages], node, text)
        case grammar.Call(name=name):
            kind = COMPONENTS.get(name.lower())
            if name.lower() == "auto":
                raise PlanError(_AUTO)
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
        value: Any = build(node, text)
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


def to_dict(part: Component) -> dict[str, Any]:
    out: dict[str, Any] = {"name": part.name}
    for word, name in _words(type(part)).items():
        value = getattr(part, name)
        out[word] = to_dict(value) if isinstance(value, Component) else value
    return out


def from_dict(value: Any, where: str) -> Any:
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
        inner = from_dict(given, f"{where}.{key}") if _is_part(hint) else given
        try:
            args[names[key]] = _fitting(hint, inner)
        except PlanError as error:
            raise PlanError(f"Plan: {where}.{key} {error}") from error
    try:
        return kind(**args)
    except (TypeError, OverflowError) as error:
        raise PlanError(f"Plan: {where}: {error}.") from error

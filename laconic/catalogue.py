"""Every algorithm there is, with what it claims: what `laconic list` prints."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields

from laconic.coding import AbstractCoding, Golomb
from laconic.components import COMPONENTS
from laconic.compress import QSGD, AbstractCompressor, Accordion, ByShape, Chain, Coded, Filtered, PowerSGD, TopK
from laconic.compress.base import NOMINAL
from laconic.core.bucket import BucketSpec
from laconic.core.component import Component
from laconic.outer import AbstractOuter
from laconic.papers import PAPERS
from laconic.sync import Local
from laconic.topology import AbstractGraph, Gossip, Ring, WeightFile
from laconic.topology.mixing import AbstractMixing

_MATRIX = BucketSpec(0, ("x",), ((1024, 1024),))
_EXAMPLES: dict[type[Component], Component] = {
    Chain: Chain(TopK(0.01), QSGD(4)),
    Coded: Coded(TopK(0.01), Golomb()),
    ByShape: ByShape(PowerSGD(4)),
    Accordion: Accordion(PowerSGD(4), PowerSGD(1)),
    Filtered: Filtered(TopK(0.01), deny="bias"),
    Gossip: Gossip(Ring()),
    WeightFile: WeightFile("weights.txt"),
}


@dataclass(frozen=True)
class Entry:
    name: str
    folder: str
    summary: str
    paper: str
    traits: dict[str, object]
    usage: str


def catalogue() -> list[Entry]:
    return [_entry(kind) for kind in COMPONENTS.values()]


def _entry(kind: type[Component]) -> Entry:
    example = _example(kind)
    return Entry(
        name=kind.name,
        folder=kind.folder,
        summary=kind.summary(),
        paper=PAPERS[kind.paper] if kind.paper else "",
        traits=_traits(example),
        usage=_usage(example),
    )


def _usage(example: Component) -> str:
    """As it stands in a plan."""
    match example:
        case AbstractCoding():
            return example.example
        case AbstractOuter():
            return str(Local(8, example))
        case AbstractGraph():
            return str(Gossip(example))
        case AbstractMixing():
            return str(Gossip(Ring(), example))
        case _:
            return str(example)


def _example(kind: type[Component]) -> Component:
    """With the fields that have no default filled in; most wrappers go around a sparsifier."""
    if kind in _EXAMPLES:
        return _EXAMPLES[kind]
    needed = [f.name for f in fields(kind) if f.default is MISSING]  # type: ignore[arg-type]  # all are dataclasses
    return kind(**dict.fromkeys(needed, TopK(0.01)))


def _traits(example: Component) -> dict[str, object]:
    """Bounds and bits of compressors are quoted for a bucket of 2**20 elements."""
    if isinstance(example, AbstractCompressor):
        spec = _MATRIX if example.traits(_MATRIX).grain.value == "tensor" else NOMINAL
        bits = example.payload_bits(spec) / spec.numel
        return example.traits(spec).to_dict() | {"bits_per_element": round(bits, 4)}
    traits: dict[str, object] = example.traits()  # type: ignore[attr-defined]  # the other three folders
    return traits

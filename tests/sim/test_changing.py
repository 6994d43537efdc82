"""What is said of compressors that will not stay as they begin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from laconic.compress import AbstractCompressor
from laconic.plan import Plan
from laconic.sim.changing import ADAPTS
from laconic.sim.exchanges import Setting
from laconic.sim.model import table
from laconic.sim.network import Line, Network
from laconic.sim.step import simulate
from tests.zoo import ZOO

MODEL = table("tiny", [("a", (40, 30)), ("b", (30,))], [0.01] * 2, batch=4)


def notes(text: str, world: int = 4) -> tuple[str, ...]:
    return simulate(Plan.parse(text), Setting(MODEL, Network(Line(1e-3, 1e-6)), world)).notes


def everything(compress: AbstractCompressor) -> Iterator[AbstractCompressor]:
    yield compress
    for part in compress.parts:
        yield from everything(part)


@pytest.mark.parametrize(
    "text",
    [
        "ef(paced(topk(0.1)))",
        "ef(by_tensor(accordion(powersgd(4), powersgd(1))))",
        "cgx(0.05)",
        "dqsgd",
        "laq",
        "local(4) / ef(paced(topk(0.1)))",
        "priority / filtered(cgx, deny='b')",
    ],
)
def test_what_decides_while_it_trains_has_a_note(text: str) -> None:
    assert ADAPTS in notes(text)


def test_what_never_changes_has_none() -> None:
    for text in ("none", "ef(topk(0.01))", "alq", "laq(patience=0)", "by_shape(powersgd(4), bf16)"):
        assert not [note for note in notes(text) if "decided" in note or "after" in note]
    assert not notes("cgx(0.05)", world=1)


def test_what_begins_otherwise_is_taken_as_it_goes_on() -> None:
    assert "dense_first(bf16) as bf16, which it is after 100 steps" in notes("ef(dense_first(bf16))")
    assert "warmup(topk(0.01)) as topk(0.01), which it is after 200 steps" in notes("ef(warmup(topk(0.01)))")


def test_these_of_the_zoo_decide_how_much_they_say() -> None:
    adapting = [c for e in ZOO for c in everything(e.compressor) if c.adapts and not any(p.adapts for p in c.parts)]
    assert {c.name for c in adapting} == {"accordion", "asylpg", "cgx", "dqsgd", "laq", "paced"}

"""docs/topologies.md holds the numbers that the formulas give."""

from __future__ import annotations

from pathlib import Path

from laconic.topology.cost import cost
from laconic.topology.programs import NAMES

PAGE = Path(__file__).parents[2] / "docs" / "topologies.md"
WORLDS = (2, 3, 4, 6, 8, 16, 64)


def table() -> str:
    head = "| algorithm | " + " | ".join(f"n = {n}" for n in WORLDS) + " |"
    rows = [f"| {name} | " + " | ".join(cell(name, n) for n in WORLDS) + " |" for name in NAMES]
    return "\n".join([head, "|---" * (len(WORLDS) + 1) + "|", *rows])


def cell(name: str, world: int) -> str:
    found = cost(name, world, 1.0)
    return f"{found.hops} hops, {found.nbytes:.4g}"


def test_the_page_shows_what_the_formulas_give():
    text = PAGE.read_text()
    shown = text.partition("<!-- costs -->")[2].partition("<!-- end of costs -->")[0].strip()
    assert shown == table(), f"put this between the marks of docs/topologies.md:\n{table()}"

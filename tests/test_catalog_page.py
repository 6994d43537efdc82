"""docs/catalog.md is what the code says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from laconic.components import COMPONENTS

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("catalog_page", ROOT / "bench" / "catalog_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(writer: ModuleType) -> str:
    return str(writer.page())


def test_the_committed_page_is_the_generated_one(page: str):
    committed = (ROOT / "docs" / "catalog.md").read_text()
    assert committed == page, "run: python bench/catalog_page.py > docs/catalog.md"


def test_every_algorithm_has_its_place(page: str):
    algorithms = page.split("## Left out", maxsplit=1)[0]
    headings = [line for line in algorithms.splitlines() if line.startswith("### ")]
    named = {name for line in headings for name in line.removeprefix("### ").split(", ")}
    assert named == set(COMPONENTS)


def test_what_is_left_out_has_a_reason(writer: ModuleType):
    text = writer.left_out()
    assert "rANS" in text
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert all(len(row) == 3 and row[2].strip() for row in rows)


def test_formulas_stand_in_blocks(writer: ModuleType):
    blocks = list(writer._paragraphs("One idea.\n\n    a = b\n    c = d\n\nText,\n\n    e\n\nmore text."))
    assert blocks == ["One idea.", "```text\na = b\nc = d\n```", "Text,", "```text\ne\n```", "more text."]

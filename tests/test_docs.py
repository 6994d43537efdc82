"""The Python blocks of the documentation run, page by page, each page as one program; its commands name real plans."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from laconic.cli.auto import is_auto
from laconic.components import COMPONENTS
from laconic.plan import check_text

SCRIPTS = sorted((Path(__file__).parent.parent / "bench").glob("*.py"))
PAGES = sorted((Path(__file__).parent.parent / "docs").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    exec(compile("\n".join(blocks), str(page), "exec"), {})


@pytest.mark.parametrize("page", [*PAGES, Path(__file__).parent.parent / "README.md"], ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", [*PAGES, Path(__file__).parent.parent / "README.md"], ids=lambda page: page.name)
def test_commands_of_a_page_name_plans_that_exist(page: Path) -> None:
    for texts in re.findall(r"--plans? \"([^\"]+)\"", page.read_text()):
        for text in texts.split(";"):
            if text.strip() not in ("a", "b") and not is_auto(text):  # the help's "a; b"
                assert check_text(text)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_benchmarks_name_plans_that_exist(script: Path) -> None:
    nodes = list(ast.walk(ast.parse(script.read_text())))
    pieces = {id(piece) for node in nodes if isinstance(node, ast.JoinedStr) for piece in node.values}
    for node in nodes:
        text = node.value if isinstance(node, ast.Constant) and id(node) not in pieces else None
        if isinstance(text, str) and " / " in text and re.split(r"\W", text)[0] in COMPONENTS and "\n" not in text:
            assert check_text(text)

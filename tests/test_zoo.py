"""The zoo is complete: every concrete algorithm is in it, every law can catch something."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import laconic
import laconic.coding as packed
import laconic.compress as what
import laconic.outer as then
import laconic.schedule as order
import laconic.sync as when
import laconic.topology as whom
from laconic.components import COMPONENTS
from laconic.core.component import Component
from laconic.core.errors import PlanError
from laconic.papers import PAPERS
from laconic.topology import mixing
from laconic.topology.weight_file import Matrices
from tests.laws import broken
from tests.zoo import ZOO

LAWS = sorted((Path(__file__).parent / "laws").glob("test_*.py"))


def _import_everything() -> None:
    for folder in (what, packed, order, when, then, whom):
        for module in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."):
            importlib.import_module(module.name)


def _subclasses(kind: type) -> Iterator[type]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def concrete(base: type) -> set[type]:
    """Those of the product, not the broken ones of the tests."""
    _import_everything()
    ours = {k for k in _subclasses(base) if k.__module__.startswith("laconic.")}
    return {k for k in ours if not k.__name__.startswith("Abstract")}


def _parts(component: Component) -> Iterator[Component]:
    yield component
    for value in vars(component).values():
        if isinstance(value, Component):
            yield from _parts(value)


def test_every_compressor_is_in_the_zoo_by_itself():
    missing = concrete(what.AbstractCompressor) - {type(entry.compressor) for entry in ZOO}
    assert not missing, f"add to tests/zoo.py: {missing}"


def test_every_compressor_that_loses_something_is_in_the_zoo_inside_an_error_memory():
    inside = {type(p) for e in ZOO if isinstance(e.compressor, what.ErrorFeedback) for p in _parts(e.compressor)}
    refused = {type(e.compressor) for e in ZOO if _refused(e.compressor)}
    assert concrete(what.AbstractCompressor) <= inside | refused


def _refused(compressor: what.AbstractCompressor) -> bool:
    """Those that promise nothing to an error memory, or have their own."""
    try:
        what.ErrorFeedback(compressor)
    except PlanError:
        return True
    return False


def test_every_coding_is_in_the_zoo():
    assert concrete(packed.AbstractCoding) == {type(p) for e in ZOO for p in _parts(e.compressor)} & set(packed.ALL)


@pytest.mark.parametrize(
    ("base", "table"),
    [
        (what.AbstractCompressor, what.ALL),
        (packed.AbstractCoding, packed.ALL),
        (order.AbstractSchedule, order.ALL),
        (when.AbstractSync, when.ALL),
        (then.AbstractOuter, then.ALL),
        (whom.AbstractTopology, whom.TOPOLOGIES),
        (mixing.AbstractMixing, mixing.ALL),
    ],
)
def test_every_algorithm_is_in_the_table_of_its_folder(base: type, table: tuple[type, ...]):
    assert concrete(base) == set(table)
    assert len(set(table)) == len(table)


def test_every_graph_is_in_the_table_of_graphs():
    read_from_a_file = {Matrices}  # what `weights` becomes
    assert concrete(whom.AbstractGraph) - read_from_a_file == set(whom.GRAPHS)


def test_names_are_unique_over_all_folders():
    every = [kind.name for folder in (what, packed, order, when, then, whom) for kind in folder.ALL]
    assert len(every) == len(set(every)) == len(COMPONENTS)


def test_no_two_entries_are_the_same():
    assert len({entry.compressor for entry in ZOO}) == len(ZOO)


@pytest.mark.parametrize("kind", COMPONENTS.values(), ids=lambda kind: kind.name)
def test_every_algorithm_says_what_it_is_and_where_it_comes_from(kind: type[Component]):
    assert kind.summary().endswith(".")
    assert kind.paper == "" or kind.paper in PAPERS
    source = inspect.getmodule(kind)
    assert source is not None
    assert source.__doc__, f"{kind.__name__}: the file opens with a sentence and the formula"


@pytest.mark.parametrize("path", LAWS, ids=lambda path: path.stem)
def test_every_law_catches_a_broken_compressor(path: Path):
    functions = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)]
    laws = {f.name for f in functions if f.name.startswith("check_")}
    called = {
        n.func.id
        for f in functions
        if f.name.startswith("test_the_law_catches")
        for n in ast.walk(f)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    helpers = {n.func.id for f in functions if f.name in laws for n in _calls(f)}
    untested = laws - called - helpers
    assert not untested, f"no broken compressor shows that these laws can fail: {untested}"


def _calls(function: ast.FunctionDef) -> list[ast.Call]:
    every = [n for n in ast.walk(function) if isinstance(n, ast.Call)]
    return [n for n in every if isinstance(n.func, ast.Name)]


def test_every_broken_compressor_is_caught_by_some_law():
    source = "".join(path.read_text() for path in LAWS)
    kinds = [n for n, k in vars(broken).items() if inspect.isclass(k) and k.__module__ == broken.__name__]
    unused = [n for n in kinds if f"broken.{n}(" not in source and not n.startswith("_")]
    assert not unused


def test_the_package_is_the_one_in_this_tree():
    assert Path(laconic.__file__).parents[1] == Path(__file__).parents[1]

"""Imports point downward (DESIGN section 3); the event loop stays out; so does torch.distributed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "laconic"
FILES = sorted(ROOT.rglob("*.py"))

# core <- {kernels, net, compress, topology, sync, schedule} <- drive <- {plan, ...} <- replica <- the rest
LAYERS = (
    {"core"},
    {"outer"},  # what sync does with what was agreed on
    {"kernels", "net", "sync", "topology", "schedule", "trace"},
    {"coding"},  # uses the kernels
    {"compress"},  # uses both
    {"drive"},
    {"baseline", "papers", "presets", "promises", "components"},
    {"plan"},
    {"catalogue"},
)
HEIGHT = {name: height for height, layer in enumerate(LAYERS) for name in layer}
TOP = len(LAYERS)


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def unit(module: str) -> str | None:
    """`laconic.core.rng.Stream` -> `core`; None for what is not ours or is the package itself."""
    words = module.split(".")
    if words[0] != "laconic" or len(words) == 1:
        return None
    return words[1] if (ROOT / words[1]).is_dir() or (ROOT / f"{words[1]}.py").exists() else None


def own_unit(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_downward(path: Path):
    here = own_unit(path)
    if here not in HEIGHT:
        return
    for module in imported(path):
        there = unit(module)
        if there is None or there == here:
            continue
        height = HEIGHT.get(there, TOP)
        assert height < HEIGHT[here], f"{path.relative_to(ROOT)} imports {module}, which is above it"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_imports_an_event_loop(path: Path):
    assert not [m for m in imported(path) if m.split(".")[0] == "asyncio"]


@pytest.mark.parametrize("folder", ["core", "compress", "kernels", "net", "outer", "sync", "topology", "schedule"])
def test_only_drivers_know_torch_distributed(folder: str):
    for path in (ROOT / folder).rglob("*.py"):
        assert not [m for m in imported(path) if m.startswith("torch.distributed")], path


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_cli_is_imported_by_nobody_else(path: Path):
    if own_unit(path) not in ("cli", "tasks"):
        assert "cli" not in {unit(m) for m in imported(path)}, path


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_the_session_and_the_cli_read_the_environment(path: Path):
    if own_unit(path) in ("session", "cli", "tasks", "launch", "lab"):  # launch hands it on, lab looks for its mark
        return
    names = {n.attr for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Attribute)}
    assert not names & {"environ", "getenv"}, f"{path} reads the environment"


def test_no_file_is_a_bag_of_leftovers():
    bad = {"utils", "helpers", "common", "misc"}
    assert not [p for p in FILES if p.stem in bad]


def test_global_seeds_are_never_set():
    for path in FILES:
        if own_unit(path) in ("tasks", "cli"):
            continue  # programs of their own: they seed themselves
        names = {n.attr for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Attribute)}
        assert "manual_seed" not in names, path

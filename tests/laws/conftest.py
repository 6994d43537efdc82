"""Laws of one compressor run one after the other: they look at the same history (history.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.zoo import ZOO, Entry

HERE = Path(__file__).parent
NUMBER = {id(entry): i for i, entry in enumerate(ZOO)}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The hook sees the tests of all folders: ours are sorted, in the places where they stand."""
    at = [i for i, item in enumerate(items) if HERE in item.path.parents]
    ours = sorted((items[i] for i in at), key=_number)
    for i, item in zip(at, ours, strict=True):
        items[i] = item


def _number(item: pytest.Item) -> int:
    """Of the compressor; tests without one, and those of processes, come last."""
    call = getattr(item, "callspec", None)
    entry = call.params.get("entry") if call else None
    ours = isinstance(entry, Entry) and item.path.name != "test_gloo.py"
    return NUMBER.get(id(entry), len(ZOO)) if ours else len(ZOO)

"""The standard library is split by whole files, the same way everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from laconic.tasks import stdlib_text
from laconic.tasks.examples import DataError
from laconic.tasks.stdlib_text import is_heldout, load, source_files, stdlib_folder


def tree(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\n")


def test_files_are_sorted_and_tests_and_packages_left_out(tmp_path: Path):
    tree(tmp_path, "b.py", "a/z.py", "a.txt", "test/x.py", "a/tests/y.py", "site-packages/p/q.py", "test.py")
    assert [path.as_posix() for path in source_files(tmp_path)] == ["a/z.py", "b.py", "test.py"]


def test_every_file_is_in_exactly_one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stdlib_text, "ENOUGH_BYTES", 1)
    names = [f"pkg{i % 7}/m{i}.py" for i in range(200)]
    tree(tmp_path, *names)
    text = load(tmp_path)
    train, heldout = (bytes(part.tolist()).split(b"\0")[:-1] for part in (text.train, text.heldout))
    assert not set(train) & set(heldout)
    assert sorted(train + heldout) == sorted(f"# {name}\n".encode() for name in names)
    assert 5 <= len(heldout) <= 40  # one in ten of 200 is expected; the hash is fixed, so this cannot flake


def test_the_split_depends_on_the_name_alone():
    """Pinned: moving a file between the parts would make old and new results incomparable."""
    heldout = [name for name in ("abc.py", "json/decoder.py", "runpy.py", "operator.py") if is_heldout(Path(name))]
    assert heldout == ["runpy.py", "operator.py"]


def test_this_pythons_library_is_enough():
    text = load(stdlib_folder())
    assert len(text.train) > 10 * 128 * 1000
    assert len(text.heldout) > 128 * 128


def test_a_library_without_sources_is_refused(tmp_path: Path):
    tree(tmp_path, "site.py")
    with pytest.raises(DataError, match="full standard library"):
        load(tmp_path)

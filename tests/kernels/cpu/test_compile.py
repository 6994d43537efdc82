"""Compiled once: a second process loads, ranks take turns, a damaged file or a closed folder does no harm."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from laconic.core.errors import KernelError
from laconic.kernels.cpu import compile as building
from laconic.kernels.cpu.compile import Kernel, kernel


@kernel("int64(int64, int64)")
def plus(a, b):  # type: ignore[no-untyped-def]
    return a + b


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(building, "cache_folder", lambda: tmp_path)
    return tmp_path


def again() -> Kernel:
    return Kernel(plus.function, plus.signature)


def files(folder: Path) -> dict[str, int]:
    return {p.name: p.stat().st_mtime_ns for p in folder.rglob("*.nb*")}


def test_a_kernel_is_compiled_once_and_then_loaded(folder: Path):
    assert again()(2, 3) == 5
    first = files(folder)
    assert len(first) == 2  # an index and the machine code
    loaded = again()
    assert loaded(2, 3) == 5
    assert files(folder) == first
    assert sum(loaded.load().stats.cache_hits.values()) == 1


def test_a_damaged_file_is_compiled_anew(folder: Path):
    again()(2, 3)
    for file in folder.rglob("*.nb*"):
        file.write_bytes(b"not what was written")
    assert again()(2, 3) == 5
    assert again()(2, 3) == 5


def test_without_any_folder_it_works_all_the_same(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(building, "cache_folder", lambda: None)
    assert again()(2, 3) == 5


def test_what_cannot_be_compiled_is_a_kernel_error(folder: Path):
    @kernel("int64(int64)")
    def bad(a):  # type: ignore[no-untyped-def]
        return a.no_such_attribute

    with pytest.raises(KernelError, match="could not compile 'bad'"):
        bad(1)


def test_other_types_are_refused(folder: Path):
    with pytest.raises(TypeError):
        again()("a", 2)


def test_the_users_own_cache_setting_is_left_alone(folder: Path):
    from numba import config

    before = config.CACHE_DIR
    again()(2, 3)
    assert before == config.CACHE_DIR


def test_a_read_only_home_sends_kernels_to_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    closed = tmp_path / "a file, not a folder"
    closed.write_text("")
    monkeypatch.setattr(building, "_home", lambda: closed / "laconic")
    monkeypatch.setattr(building, "_temporary", lambda: tmp_path / "temporary")
    monkeypatch.setattr(building.config, "CACHE_DIR", "")
    found = building.cache_folder.__wrapped__()
    assert found is not None
    assert found.parent == tmp_path / "temporary"
    assert found.stat().st_mode & 0o077 == 0


def test_a_folder_that_others_can_write_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    open_to_all = tmp_path / "open"
    monkeypatch.setattr(building, "_home", lambda: open_to_all)
    monkeypatch.setattr(building, "_temporary", lambda: tmp_path / "temporary")
    monkeypatch.setattr(building.config, "CACHE_DIR", "")
    name = building.cache_folder.__wrapped__()
    assert name is not None
    (open_to_all / name.name).chmod(0o777)
    found = building.cache_folder.__wrapped__()
    assert found is not None
    assert found.parent == tmp_path / "temporary"


PROGRAM = """
import sys
from pathlib import Path
from laconic.kernels.cpu import compile as building, pack
building.cache_folder = lambda: Path(sys.argv[1])
dispatcher = pack.pack_chunks.load()
print(sum(dispatcher.stats.cache_misses.values()))
"""


def test_of_ranks_that_start_together_one_compiles(tmp_path: Path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    ranks = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    compiled = [int(rank.communicate(timeout=100)[0]) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0, 0]
    assert sorted(compiled) == [0, 0, 1]


def test_threads_that_load_together_find_the_setting_theirs_and_then_as_it_was(folder: Path):
    """A lane put it back while another lane's numba was asking: files landed in the working directory."""
    before, inside, seen = building.config.CACHE_DIR, threading.Barrier(2, timeout=1), []

    def ask(place: Path) -> None:
        with building._caching_in(place):
            with contextlib.suppress(threading.BrokenBarrierError):
                inside.wait()  # where both could be inside at once, both are
            seen.append(str(place) == building.config.CACHE_DIR)

    lanes = [threading.Thread(target=ask, args=(folder / name,)) for name in "ab"]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    assert (seen, building.config.CACHE_DIR) == ([True, True], before)

from __future__ import annotations

import json
from pathlib import Path

import pytest

from laconic.core.errors import UsageError
from laconic.core.files import check_writable, json_text, write_whole


def test_a_file_in_a_new_folder_is_writable_and_is_not_left_behind(tmp_path: Path):
    out = tmp_path / "deep" / "out.json"
    check_writable(out, "--json")
    assert list(out.parent.iterdir()) == []


def test_a_file_that_exists_keeps_its_content(tmp_path: Path):
    out = tmp_path / "out.json"
    out.write_text("before")
    check_writable(out, "--json")
    assert out.read_text() == "before"


def test_a_place_that_cannot_be_written_is_named_with_its_option(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"--html .*out\.html cannot be written"):
        check_writable(tmp_path / "file" / "out.html", "--html")
    with pytest.raises(UsageError, match="it is a folder"):
        check_writable(tmp_path, "--html")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a disk that is always full")
def test_a_full_disk_is_found_out():
    with pytest.raises(UsageError, match="No space left"):
        check_writable(Path("/dev/full"), "--json")


def test_a_file_is_replaced_whole_and_nothing_stays_beside_it(tmp_path: Path):
    out = tmp_path / "out.json"
    write_whole(out, "one")
    write_whole(out, "two")
    assert out.read_text() == "two"
    assert list(tmp_path.iterdir()) == [out]


def test_json_has_no_nan():
    text = json_text({"a": float("nan"), "b": [float("inf"), 1.5], "c": (1,)})
    assert json.loads(text) == {"a": None, "b": [None, 1.5], "c": [1]}

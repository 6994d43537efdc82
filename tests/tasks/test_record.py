from __future__ import annotations

import json
from pathlib import Path

import pytest

from laconic.core.errors import UsageError
from laconic.tasks.record import append_line, check_writable


def test_lines_are_appended_and_a_diverged_run_says_null(tmp_path: Path):
    out = tmp_path / "deep" / "out.json"
    check_writable(out)
    append_line(out, {"loss": float("nan"), "history": [{"loss": float("inf")}, {"loss": 1.5}]})
    append_line(out, {"loss": 2})
    first, second = map(json.loads, out.read_text().splitlines())
    assert first == {"loss": None, "history": [{"loss": None}, {"loss": 1.5}]}
    assert second == {"loss": 2}


def test_a_place_that_cannot_be_written_is_refused_before_training(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        check_writable(tmp_path / "file" / "out.json")

from __future__ import annotations

import json
from pathlib import Path

from laconic.tasks.record import append_line


def test_lines_are_appended_and_a_diverged_run_says_null(tmp_path: Path):
    out = tmp_path / "out.json"
    append_line(out, {"loss": float("nan"), "history": [{"loss": float("inf")}, {"loss": 1.5}]})
    append_line(out, {"loss": 2})
    first, second = map(json.loads, out.read_text().splitlines())
    assert first == {"loss": None, "history": [{"loss": None}, {"loss": 1.5}]}
    assert second == {"loss": 2}

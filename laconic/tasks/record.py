"""The result of a run: one line of JSON at the end of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from laconic.core.files import json_text


def append_line(path: Path, record: dict[str, Any]) -> None:
    """One write call, so that runs that share the file do not mix their lines."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json_text(record) + "\n")

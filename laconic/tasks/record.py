"""The result of a run: one line of JSON at the end of a file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from laconic.core.errors import UsageError


def check_writable(path: Path) -> None:
    """Find out before the training, not after it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("a").close()
    except OSError as error:
        raise UsageError(f"--json {path} cannot be written: {error}. Name another file.") from error


def append_line(path: Path, record: dict[str, Any]) -> None:
    """One write call, so that runs that share the file do not mix their lines."""
    line = json.dumps(without_nonfinite(record), allow_nan=False) + "\n"
    with path.open("a", encoding="utf-8") as file:
        file.write(line)


def without_nonfinite(value: Any) -> Any:
    """JSON has no NaN or infinity; a run that diverged says null."""
    if isinstance(value, dict):
        return {key: without_nonfinite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [without_nonfinite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

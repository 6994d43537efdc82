"""Files that hold results: found writable before the work, written whole or not at all, JSON without NaN."""

from __future__ import annotations

import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

from laconic.core.errors import UsageError

ROOM_BYTES = 1 << 20  # what must fit on the disk before the work begins


def check_writable(path: Path, option: str) -> None:
    """Find out before the training, not after it, that a result cannot be kept.

    A regular file is left as it is (or absent): a file beside it takes the trial megabyte. A pipe or a device gets an
    empty line.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        if path.exists() and not path.is_file():
            path.write_text("\n")
            return
        if path.exists():
            path.open("a").close()
        with tempfile.TemporaryFile(dir=path.parent) as trial:
            trial.write(bytes(ROOM_BYTES))
    except OSError as error:
        raise UsageError(f"{option} {path} cannot be written: {error}. Name another file.") from error


def write_whole(path: Path, text: str) -> None:
    """Readers see the old content or the new, never a part."""
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON has no NaN or infinity; what is not finite is written as null."""
    return json.dumps(without_nonfinite(value), allow_nan=False, indent=indent)


def without_nonfinite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nonfinite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [without_nonfinite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

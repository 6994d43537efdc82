"""The text of Python's own standard library: real data that is on every machine that can run this.

Whole files are held out, chosen by a hash of their relative name, so the split is the same everywhere and adding a file
moves no other. Tests and installed packages are left out.
"""

from __future__ import annotations

import hashlib
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from laconic.tasks.examples import DataError, uint8

SKIPPED_FOLDERS = frozenset({"site-packages", "dist-packages", "__pycache__", "test", "tests", "idle_test"})
ONE_HELD_OUT_IN = 10
END_OF_FILE = b"\0"  # occurs in no source file, so the model can tell where one ends
ENOUGH_BYTES = 1_000_000


@dataclass(frozen=True, eq=False)
class Text:
    train: Tensor  # uint8
    heldout: Tensor  # uint8


def stdlib_folder() -> Path:
    return Path(sysconfig.get_paths()["stdlib"])


def source_files(root: Path) -> list[Path]:
    """All source files below root, relative to it and sorted by name."""
    relative = (path.relative_to(root) for path in root.rglob("*.py"))
    kept = (path for path in relative if SKIPPED_FOLDERS.isdisjoint(path.parts[:-1]))
    return sorted(kept, key=Path.as_posix)


def is_heldout(relative: Path) -> bool:
    digest = hashlib.sha256(relative.as_posix().encode()).digest()
    return int.from_bytes(digest[:8], "big") % ONE_HELD_OUT_IN == 0


def load(root: Path) -> Text:
    files = source_files(root)
    text = Text(
        train=_joined(root, (path for path in files if not is_heldout(path))),
        heldout=_joined(root, (path for path in files if is_heldout(path))),
    )
    if len(text.train) < ENOUGH_BYTES:
        raise DataError(
            f"bytes: {root} holds {len(text.train)} bytes of Python source to train on, expected at least "
            f"{ENOUGH_BYTES}. Use a Python with its full standard library in files (not python3-minimal, not a zip)."
        )
    return text


def _joined(root: Path, files: Iterable[Path]) -> Tensor:
    return uint8(b"".join((root / path).read_bytes() + END_OF_FILE for path in files))

"""This interpreter and this laconic once more, whatever the folder, the flags or the installation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import laconic


def python_again(statement: str, *args: str) -> list[str]:
    """A command that runs `statement` with `args` in sys.argv[1:], with laconic imported from where ours came."""
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # noqa: SLF001  (as multiprocessing)
    root = str(Path(laconic.__file__).resolve().parents[1])
    first = f"import sys; sys.path[:{0 if sys.flags.safe_path else 1}] = [sys.argv.pop(1)]; "
    return [sys.executable, *flags, "-c", first + statement, root, *args]

"""What this process may use of the machine it runs on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import torch


def cores() -> int:
    """CPU cores this process may run on; a container or taskset often allows fewer than exist."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def facts() -> dict[str, str]:
    """What a figure was measured on and with."""
    return {
        "processor": _processor(),
        "cores": str(cores()),
        "system": platform.platform(),
        "laconic": importlib.metadata.version("laconic"),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "threads per rank": os.environ.get("OMP_NUM_THREADS", "1"),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _processor(table: Path = Path("/proc/cpuinfo")) -> str:
    try:
        lines = table.read_text(errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())

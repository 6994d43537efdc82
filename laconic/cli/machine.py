"""What this process may use of the machine it runs on."""

from __future__ import annotations

import os
import sys


def cores() -> int:
    """CPU cores this process may run on; a container or taskset often allows fewer than exist."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

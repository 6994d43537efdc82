"""What the kernel counted on a network interface: the truth our own byte counter is held against.

`/proc/thread-self/net/dev` shows the network namespace the calling thread lives in; `/sys/class/net` would show the one
`/sys` was mounted in, which in a lab is the wrong one.
"""

from __future__ import annotations

from pathlib import Path

from laconic.core.errors import UsageError

TABLE = Path("/proc/thread-self/net/dev")
_SENT_COLUMN = 8  # after the interface's name: eight columns of what was received, then bytes sent


def transmitted_bytes(interface: str, table: Path = TABLE) -> int:
    """Bytes this interface has sent since it exists, frame headers included."""
    try:
        lines = table.read_text().splitlines()
    except OSError as error:
        raise UsageError(f"LACONIC_INTERFACE={interface}: interface counters cannot be read ({error}).") from error
    counters = {name.strip(): numbers for name, colon, numbers in (line.partition(":") for line in lines) if colon}
    if interface not in counters:
        raise UsageError(f"LACONIC_INTERFACE={interface}: there is no such interface here, only {', '.join(counters)}.")
    return int(counters[interface].split()[_SENT_COLUMN])

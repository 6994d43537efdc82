"""Run a laconic command inside fresh namespaces, where a lab can be built.

    if spec is not None and not inside():
        return enter(["run", *argv], spec)

The command starts again from its beginning, this time inside; `init.py` says what holds it together.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from laconic.core.errors import LaconicError
from laconic.lab.spec import LabSpec
from laconic.lab.support import NETEM_ADVICE, init_command, support
from laconic.launch.again import python_again

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
START = "from laconic.cli import main; sys.exit(main(sys.argv[1:]))"


class LabError(LaconicError):
    """A lab that cannot be built here."""


def inside() -> bool:
    """Are we in the namespaces `enter` made? A rank in a host is in another: it may have a lab of its own."""
    mark = os.environ.get("LACONIC_LAB")  # left by init.py
    return mark is not None and mark == str(Path("/proc/self/ns/net").stat().st_ino)


def require(spec: LabSpec | None = None) -> None:
    """Raise, before anything starts, what makes this lab impossible here."""
    seen = support()
    if seen.fault is not None:
        raise LabError(
            f"no lab can be built here: {seen.fault}. To have one: {seen.advice}. "
            "Or use --no-lab: the same processes over loopback, without link rates."
        )
    if spec is not None and spec.needs_netem and not seen.netem:
        raise LabError(
            "delay, jitter and loss need netem, which this kernel does not have. "
            f"To have them: {NETEM_ADVICE}. Rates, --up, --down and --slow work without."
        )


def enter(argv: Sequence[str], spec: LabSpec | None = None, *, terminal: bool = False) -> int:
    """`laconic ARGV` inside; its exit code, or 128 + the number of the signal that ended it.

    `terminal`: the command reads from the terminal (a shell). Call it from the main thread.
    """
    require(spec)
    command = init_command(python_again(START, *argv), user_namespace=support().user_namespace, terminal=terminal)
    before = {number: signal.getsignal(number) for number in FORWARDED}
    process = subprocess.Popen(command)
    try:
        for number in FORWARDED:
            signal.signal(number, lambda number, _: process.send_signal(number))
        return process.wait()
    finally:
        for number, action in before.items():
            signal.signal(number, action)

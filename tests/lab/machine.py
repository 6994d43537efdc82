"""What tests of real labs share: where they can run, and what a lab could leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from laconic.lab.support import support

ROOT = Path(__file__).parents[2]
MARK = "LACONIC_TEST_MARK"
needs_lab = pytest.mark.skipif(support().fault is not None, reason=f"no lab here: {support().fault}")


class Marked:
    """A command whose processes can all be found: they inherit a mark."""

    def __init__(self, *command: str, **options: int) -> None:
        self.mark = uuid.uuid4().hex
        env = os.environ | {MARK: self.mark, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, env=env, text=True, stdout=-1, stderr=-1, stdin=-3, **options)

    def processes(self) -> list[int]:
        word = f"{MARK}={self.mark}".encode()
        return [pid for pid in pids() if word in read(pid, "environ")]

    def networks(self) -> set[str]:
        """The network namespaces they are in, without our own."""
        return set(map(network, self.processes())) - {network(os.getpid()), ""}

    def finished(self) -> tuple[int, str, str]:
        out, err = self.process.communicate()
        return self.process.returncode, out, err


def laconic(*argv: str) -> Marked:
    return Marked(sys.executable, "-m", "laconic.cli", *argv)


def until(seen: Callable[[], bool]) -> None:
    """Other processes need a moment; a condition that never comes true is the test's time limit."""
    while not seen():
        time.sleep(0.01)


def pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def network(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""


def read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def held_networks() -> set[str]:
    """All that a process is in or a mount holds, as far as we may see."""
    mounted = {word for pid in pids() for word in read(pid, "mountinfo").decode(errors="replace").split()}
    return {network(pid) for pid in pids()} | {word for word in mounted if word.startswith("net:[")}


def own_links() -> str:
    """The machine's interfaces and mounts, which no lab may touch."""
    listed = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=False).stdout
    return " ".join(line.split()[1] for line in listed.splitlines()) + Path("/proc/self/mounts").read_text()

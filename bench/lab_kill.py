"""Start labs, kill their launcher with SIGKILL at a random moment, and look for anything left behind.

    python bench/lab_kill.py                 # 20 labs; exit code 1 if something is left

The moment of every other lab counts from its start, of the rest from the first exchange of its ranks.
Everything a lab starts inherits a mark in its environment, so its processes are known wherever they are. Before
each kill their network namespaces are noted; afterwards no process may carry the mark, no process or mount may hold
one of these namespaces, and the machine's own bridges, links, named namespaces and mounts must be as before. Needs
to see the processes of the lab: run it as the user who starts it, or as root.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from os import environ
from pathlib import Path

MARK = "LACONIC_KILL_MARK"
SCRIPT = """
import pathlib, sys, torch, torch.distributed as dist, laconic
laconic.init()
while True:
    pathlib.Path(sys.argv[1]).touch()
    dist.all_reduce(torch.ones(100_000))
"""
GONE_WITHIN_S = 20.0  # the kernel needs milliseconds; a busy machine, more


@dataclass(frozen=True)
class Machine:
    """What the machine itself owns; a lab must not change it."""

    links: str
    named: str
    mounts: str


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--labs", type=int, default=20)
    options.add_argument("--hosts", type=int, default=3)
    options.add_argument("--longest", type=float, default=10.0, help="seconds; the moment is drawn between 0 and this")
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    draw = random.Random(chosen.seed)  # noqa: S311  (moments, not secrets)
    before, bad = machine(), 0
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "train.py"
        script.write_text(SCRIPT)
        for number in range(1, chosen.labs + 1):
            moment, trains = draw.uniform(0, chosen.longest), number % 2 == 0
            seen, left = killed(script, chosen.hosts, moment, trains=trains)
            bad += bool(left)
            since = "training began" if trains else "its start"
            print(
                f"lab {number:2}: killed {moment:4.1f} s after {since} with {seen}; left behind: {left or 'nothing'}",
                flush=True,
            )
    after = machine()
    changed = [name for name in vars(before) if getattr(before, name) != getattr(after, name)]
    verdict = f"changed: {', '.join(changed)}" if changed else "as before"
    print(f"The machine's own links, named namespaces and mounts: {verdict}.")
    print(f"{chosen.labs} labs, {bad} left something behind.")
    return 1 if bad or changed else 0


def killed(script: Path, hosts: int, moment: float, *, trains: bool) -> tuple[str, str]:
    """What was there when the launcher was killed, and what still was afterwards."""
    mark = uuid.uuid4().hex
    began = script.with_name(mark)
    command = [sys.executable, "-m", "laconic.cli", "run", "--hosts", str(hosts), "--rate", "100mbit"]
    command += [str(script), str(began)]
    launcher = subprocess.Popen(
        command, env={**environ, MARK: mark}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while trains and not began.exists() and launcher.poll() is None:
        time.sleep(0.05)
    with contextlib.suppress(subprocess.TimeoutExpired):
        launcher.wait(timeout=moment)
    networks = {network for pid in marked(mark) if (network := network_of(pid))} - {network_of("self")}
    seen = f"{len(marked(mark)):2} processes in {len(networks)} networks of their own"
    launcher.send_signal(signal.SIGKILL)
    if launcher.wait() != -signal.SIGKILL:
        return seen, f"it had ended by itself with exit code {launcher.returncode}"
    end = time.monotonic() + GONE_WITHIN_S
    while (left := leftovers(mark, networks)) and time.monotonic() < end:
        time.sleep(0.05)
    return seen, left


def leftovers(mark: str, networks: set[str | None]) -> str:
    processes = marked(mark)
    held = networks & ({network_of(pid) for pid in pids()} | mounted_networks())
    parts = [f"{len(processes)} processes {processes}"] if processes else []
    parts += [f"networks {sorted(filter(None, held))}"] if held else []
    return ", ".join(parts)


def pids() -> list[str]:
    return [entry.name for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def marked(mark: str) -> list[str]:
    word = f"{MARK}={mark}".encode()
    return [pid for pid in pids() if word in read(pid, "environ")]


def network_of(pid: str) -> str | None:
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return None


def mounted_networks() -> set[str | None]:
    """Namespaces that a bind mount holds, in whatever mount namespace a process can show."""
    tables = {read(pid, "mountinfo") for pid in pids()}
    return {name for table in tables for name in re.findall(r"net:\[\d+\]", table.decode(errors="replace"))}


def read(pid: str, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def machine() -> Machine:
    def said(*command: str) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    links = "\n".join(sorted(line.split(":")[1] for line in said("ip", "-o", "link").splitlines()))
    return Machine(links, said("ip", "netns", "list"), Path("/proc/self/mounts").read_text())


if __name__ == "__main__":
    sys.exit(main())

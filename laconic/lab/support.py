"""Can this machine have a lab? Found out by trying everything once, in namespaces that vanish at once."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

INIT = Path(__file__).with_name("init.py")
PROBE = Path(__file__).with_name("probe.py")
SYSTEM_FOLDERS = "/usr/sbin:/sbin:/usr/local/sbin"  # some PATHs leave them out
LIMIT_S = 60.0

TOOLS_ADVICE = "apt install iproute2"
KERNEL_ADVICE = (
    "run as root where root may, or allow namespaces to all: sysctl -w kernel.unprivileged_userns_clone=1 (Debian), "
    "kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), user.max_user_namespaces=10000; in Docker: docker run "
    "--cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
)
NETEM_ADVICE = "a kernel with CONFIG_NET_SCH_NETEM (modprobe sch_netem)"


@dataclass(frozen=True)
class Support:
    """`fault` says why a lab cannot work here (None: it can), `advice` what to do about it."""

    fault: str | None
    advice: str = ""
    user_namespace: bool = False  # rootless
    netem: bool = False


def tool(name: str) -> str | None:
    """Where `ip` or `tc` is."""
    return shutil.which(name) or shutil.which(name, path=SYSTEM_FOLDERS)


@functools.cache
def support() -> Support:
    """As root in namespaces of its own; where that is refused, or without root, in a user namespace as well."""
    if sys.platform != "linux":
        return Support(f"it needs Linux, and this is {sys.platform}", "a Linux machine, also a virtual one")
    missing = [name for name in ("ip", "tc") if tool(name) is None]
    if missing:
        return Support(f"not installed: {' and '.join(missing)}", TOOLS_ADVICE)
    found = Support("nothing was tried")
    for user_namespace in (False, True) if os.geteuid() == 0 else (True,):
        found = _probe(user_namespace=user_namespace)
        if found.fault is None:
            break
    return found


def init_command(command: Sequence[str], *, user_namespace: bool, terminal: bool = False) -> list[str]:
    """Start it from the main thread: it dies with the thread that started it."""
    order = {"launcher": os.getpid(), "user": user_namespace, "terminal": terminal, "command": list(command)}
    return [sys.executable, "-I", str(INIT), json.dumps(order)]


def _probe(*, user_namespace: bool) -> Support:
    probe = [sys.executable, "-I", str(PROBE), tool("ip") or "ip", tool("tc") or "tc"]
    command = init_command(probe, user_namespace=user_namespace)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired:
        return Support(f"the kernel gave no answer within {LIMIT_S:g} s", KERNEL_ADVICE)
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return Support(f"the kernel refuses new namespaces ({why})", KERNEL_ADVICE)
    found = json.loads(done.stdout)
    return Support(found["fault"], KERNEL_ADVICE if found["fault"] else "", user_namespace, found["netem"])

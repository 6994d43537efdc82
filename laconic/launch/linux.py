"""The Linux calls that Python 3.11 does not offer."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from laconic.core.errors import UsageError

CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
MS_BIND = 0x1000
MNT_DETACH = 2


def require_linux(what: str) -> None:
    if sys.platform != "linux":
        raise UsageError(f"{what} needs Linux, and this is {sys.platform}.")


def enter_network(path: str) -> None:
    """Move this thread (the only one, or others stay behind) into the network namespace bound at `path`."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_libc().setns(handle, CLONE_NEWNET), path)
    finally:
        os.close(handle)


@contextlib.contextmanager
def in_network(path: str) -> Iterator[None]:
    """What this thread opens inside the `with` belongs to that network, and stays in it afterwards."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter_network(path)
        yield
    finally:
        _check(_libc().setns(home, CLONE_NEWNET), "the launcher's network")
        os.close(home)


def die_with_parent(parent: int) -> None:
    """From now on the kernel kills this process when the thread that started it ends.

    The parent may have ended before this call; then nobody would send the signal, so ask who the parent is now.
    """
    _check(_libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


@contextlib.contextmanager
def bind_mount(source: Path, target: Path) -> Iterator[None]:
    """Show `source` at `target` in this mount namespace."""
    _check(_libc().mount(bytes(source), bytes(target), None, MS_BIND, None), str(target))
    try:
        yield
    finally:
        _libc().umount2(bytes(target), MNT_DETACH)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), what)

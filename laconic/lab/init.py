"""A program of its own, without torch: makes fresh namespaces and is their first process.

    python -I init.py '{"launcher": PID, "user": false, "terminal": false, "command": [...]}'

It runs as two processes. The *outer* one dies with the launcher (the kernel's parent-death signal), makes the
namespaces and waits. The *inner* one is process 1 of the new process namespace and dies with the outer one; when it
ends, for whatever reason, the kernel kills every process in the namespace, and the networks vanish with the last of
them. So nothing is left behind whoever is killed when. Nothing is created outside: mounts are private, the network
is new.

Signals: INT, TERM and HUP travel launcher -> outer -> inner; inner passes the first on as TERM. A second one a
second later, or 20 s without an end, ends everything at once. With "terminal" the command owns the terminal and INT
is its own business.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x00020000, 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 0x1000, 0x4000, 1 << 18
PR_SET_PDEATHSIG = 1
WATCHED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}
REFUSED = 113  # our exit code when the kernel would not
AGAIN_S, PATIENCE_S = 1.0, 20.0

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    order = json.loads(sys.argv[1])
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    call("prctl", PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != order["launcher"]:  # it ended before the kernel knew
        os._exit(1)
    new_namespaces(user=order["user"])
    orphaned, held = os.pipe()
    child = os.fork()
    if child != 0:
        os.close(orphaned)
        os._exit(wait_for(child))
    os.close(held)
    call("prctl", PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if select.select([orphaned], [], [], 0)[0]:  # readable means closed: outer ended before the kernel knew
        os._exit(1)
    private_mounts()
    first_process(order)


def new_namespaces(*, user: bool) -> None:
    uid, gid = os.geteuid(), os.getegid()
    call("unshare", CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | (CLONE_NEWUSER if user else 0))
    if user:
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", f"0 {uid} 1")
        write("/proc/self/gid_map", f"0 {gid} 1")


def wait_for(child: int) -> int:
    """The outer process: pass signals on until the inner one ends."""
    while True:
        number = signal.sigwait(WATCHED)
        if number != signal.SIGCHLD:
            os.kill(child, number)
            continue
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid == child:
            return exit_code(status)


def private_mounts() -> None:
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    try:
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    except OSError as error:  # inside some containers; /proc/self is right all the same
        note = f"/proc could not be mounted afresh ({error.strerror}): ps and top show the processes of the machine."
        print(f"laconic lab: {note}", file=sys.stderr)
    run = Path("/var/run").resolve()  # where `ip netns` looks
    if not (run / "netns").is_dir():
        rebuild(run)
    mount("netns", f"{run}/netns", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def rebuild(folder: Path) -> None:
    """The same folder on a file system of our own, where `netns` can be made without touching the machine's."""
    old = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    names = [entry.name for entry in folder.iterdir()]
    mount("run", str(folder), "tmpfs", MS_NOSUID | MS_NODEV)
    for name in names:
        source, target = Path(f"/proc/self/fd/{old}/{name}"), folder / name
        with contextlib.suppress(OSError):  # what cannot be shown again is missing inside, nothing more
            if source.is_symlink():
                target.symlink_to(source.readlink())
                continue
            if source.is_dir():
                target.mkdir()
            else:
                target.touch()
            mount(str(source), str(target), None, MS_BIND | MS_REC)
    os.close(old)
    (folder / "netns").mkdir()


def first_process(order: dict[str, Any]) -> NoReturn:
    """Process 1: start the command, collect orphans, pass the first signal on, end with the command."""
    command = os.fork()
    if command == 0:
        become(order)
    asked, asked_at = 0, 0.0
    while True:
        got = signal.sigtimedwait(WATCHED, PATIENCE_S if asked else 3600.0)
        if got is None and asked:
            os._exit(128 + asked)
        number = got.si_signo if got is not None else signal.SIGCHLD
        if number == signal.SIGCHLD:
            ended = collect(command)
            if ended is not None:
                os._exit(128 + asked if asked and ended in (143, 129) else ended)
        elif order["terminal"] and number == signal.SIGINT:
            continue
        elif not asked:
            asked, asked_at = number, time.monotonic()
            os.kill(command, signal.SIGHUP if order["terminal"] else signal.SIGTERM)
        elif time.monotonic() - asked_at > AGAIN_S:
            os._exit(128 + asked)


def become(order: dict[str, Any]) -> NoReturn:
    if not order["terminal"]:
        os.setsid()  # what the terminal sends reaches it through process 1 only
    signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
    words = order["command"]
    try:
        os.environ["LACONIC_LAB"] = str(Path("/proc/self/ns/net").stat().st_ino)
        os.execvp(words[0], words)  # noqa: S606  (the launcher's own words)
    except OSError as error:
        refuse(f"{words[0]} does not start: {error.strerror}")


def collect(command: int) -> int | None:
    """Reap whoever ended; the command's exit code if it was among them."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == command:
                code = exit_code(ended[1])
    return code


def exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def mount(source: str, target: str, kind: str | None, flags: int) -> None:
    call("mount", source.encode(), target.encode(), kind and kind.encode(), flags, None)


def write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="ascii")


def call(name: str, *args: Any) -> None:
    """One call of the C library; an error is an OSError that knows the call."""
    if getattr(libc, name)(*[ctypes.c_ulong(a) if isinstance(a, int) else a for a in args]) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)


def refuse(text: str) -> NoReturn:
    print(text, file=sys.stderr, flush=True)
    os._exit(REFUSED)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        refuse(f"{error.filename}: {error.strerror}")

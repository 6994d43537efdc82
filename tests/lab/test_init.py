"""The first process of a lab: new namespaces around a command, its exit code out, nothing left whoever is killed."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from laconic.lab import init
from laconic.lab.support import INIT, support
from tests.lab.machine import Marked, held_networks, needs_lab, own_links, until

pytestmark = needs_lab
# A launcher without torch: tests of init.py need no more.
LAUNCHER = (
    "import json, os, subprocess, sys\n"
    "order = {**json.loads(sys.argv[2]), 'launcher': os.getpid()}\n"
    "process = subprocess.Popen([sys.executable, '-I', sys.argv[1], json.dumps(order)])\n"
    "print(process.pid, flush=True)\n"
    "sys.exit(process.wait())\n"
)


def launched(*command: str, user: bool | None = None) -> Marked:
    user = support().user_namespace if user is None else user
    order = {"user": user, "terminal": False, "command": command}
    return Marked(sys.executable, "-c", LAUNCHER, str(INIT), json.dumps(order))


def said(lab: Marked) -> str:
    """The next line of its output."""
    assert lab.process.stdout is not None
    return lab.process.stdout.readline()


def gone(lab: Marked, networks: set[str]) -> bool:
    return not lab.processes() and not networks & held_networks()


@pytest.mark.parametrize(("ending", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_the_commands_exit_code_comes_back(ending: str, code: int) -> None:
    assert launched("sh", "-c", ending).finished()[0] == code


@pytest.mark.parametrize("user", [False, True])
def test_inside_are_a_new_network_new_processes_and_the_same_run_folder(user: bool) -> None:
    if not user and os.geteuid() != 0:
        pytest.skip("not root")
    before = own_links()
    look = (
        "ls -d /proc/[0-9]* | wc -l; wc -l < /proc/net/dev; ls /run /var/run/netns; id -u; mount | grep -c /run/netns"
    )
    code, out, err = launched("sh", "-c", look, user=user).finished()
    assert (code, err) == (0, "")
    processes, devices, *listed = out.split("\n")[1:]  # after the launcher's own line
    assert int(processes) <= 4
    assert int(devices) == 3  # two lines of head, and lo
    assert {entry.name for entry in Path("/run").iterdir()} <= set(listed)
    assert "0" in listed  # the user is root there
    assert listed[-2] == "1"
    assert own_links() == before


def test_a_command_that_does_not_exist_is_named() -> None:
    code, _, err = launched("/no/such/thing").finished()
    assert code == init.REFUSED
    assert err == "/no/such/thing does not start: No such file or directory\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_command_quietly(number: signal.Signals, code: int) -> None:
    lab = launched("sh", "-c", "echo ready; exec sleep 1000")
    outer = int(said(lab))
    assert said(lab) == "ready\n"
    os.kill(outer, number)
    assert lab.finished() == (code, "", "")
    until(lambda: gone(lab, set()))


def test_a_command_may_end_in_its_own_way_after_a_signal() -> None:
    lab = launched("sh", "-c", "trap 'echo bye; exit 3' TERM; echo ready; sleep 1000 & wait")
    outer = int(said(lab))
    assert said(lab) == "ready\n"
    os.kill(outer, signal.SIGINT)
    assert lab.finished() == (3, "bye\n", "")


STUBBORN = "trap '' TERM INT; (trap '' TERM; setsid sleep 1000) & setsid sleep 1000 & echo ready; wait"


@pytest.mark.parametrize("who", ["launcher", "outer"])
@pytest.mark.parametrize("moment", ["at once", "when it runs"])
@pytest.mark.parametrize("user", [False, True])
def test_sigkill_leaves_nothing_behind(who: str, moment: str, user: bool) -> None:
    if not user and os.geteuid() != 0:
        pytest.skip("not root")
    lab = launched("sh", "-c", STUBBORN, user=user)
    outer, networks = int(said(lab)), set[str]()
    if moment == "when it runs":
        assert said(lab) == "ready\n"
        networks = lab.networks()
        assert len(networks) == 1
    os.kill(lab.process.pid if who == "launcher" else outer, signal.SIGKILL)
    lab.finished()
    until(lambda: gone(lab, networks))


def test_a_launcher_that_is_already_gone_starts_nothing() -> None:
    order = {"user": support().user_namespace, "terminal": False, "command": ["true"], "launcher": 1}
    assert Marked(sys.executable, "-I", str(INIT), json.dumps(order)).finished()[0] == 1

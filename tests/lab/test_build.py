"""Labs for real: the rates that were asked for are set, labs do not collide, a run ends as it should."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from laconic.lab.support import init_command, support
from laconic.launch.again import python_again
from tests.lab.machine import Marked, held_networks, laconic, needs_lab, own_links, until

pytestmark = [needs_lab, pytest.mark.timeout(300)]  # each starts interpreters that import torch, on a busy machine


def gone(lab: Marked, networks: set[str]) -> bool:
    return not lab.processes() and not networks & held_networks()


def test_the_asked_rates_are_set_in_both_directions_and_hosts_have_names() -> None:
    before = own_links()
    look = "tc qdisc show; for h in 0 1 2; do ip netns exec host$h tc qdisc show; done; getent hosts host1"
    options = ("--hosts", "3", "--rate", "100mbit", "--up", "1=10mbit", "--down", "2=1gbit", "--host", "2")
    code, out, err = laconic(
        "lab", "shell", *options, "--", "nsenter", "--net=/proc/1/ns/net", "sh", "-c", look
    ).finished()
    assert (code, err) == (0, "")
    rates = {}
    for line in out.splitlines():
        words = line.split()
        if words[:2] == ["qdisc", "tbf"]:
            rates.setdefault(words[words.index("dev") + 1], []).append(words[words.index("rate") + 1])
    assert {port: rate for port, (rate, *_) in rates.items() if port != "eth0"} == {
        "port0": "102Mbit",
        "port1": "102Mbit",
        "port2": "1020Mbit",  # nobody sends faster than these
    }
    assert rates["eth0"] == ["99Mbit", "9900Kbit", "99Mbit"]
    assert len(re.findall(r"burst 6(1[89]\d|200)b", out)) == 3  # tc rounds
    assert out.split()[-2:] == ["10.77.0.2", "host1"]
    assert own_links() == before


def test_a_way_down_slower_than_those_who_send_is_as_strict_as_a_way_up() -> None:
    look = ("nsenter", "--net=/proc/1/ns/net", "tc", "qdisc", "show", "dev", "port1")
    code, out, err = laconic(
        "lab", "shell", "--hosts", "2", "--rate", "100mbit", "--down", "1=10mbit", "--", *look
    ).finished()
    assert (code, err) == (0, "")
    assert re.search(r"rate 9900Kbit burst 6(1[89]\d|200)b", out)  # tc rounds


def test_hosts_talk_by_the_same_congestion_control_on_every_machine() -> None:
    code, out, err = laconic("lab", "shell", "--hosts", "2", "--", "ip", "route", "show", "10.77.0.0/24").finished()
    assert (code, err) == (0, "")
    assert "congctl reno" in out


def test_two_labs_at_once_do_not_collide(tmp_path: Path) -> None:
    """Each waits for the other inside, so both exist at the same time, with the same names and addresses."""
    for fifo in ("a", "b"):
        os.mkfifo(tmp_path / fifo)
    meet = {
        "a": f"echo hello from a > {tmp_path}/a; cat {tmp_path}/b; ip -4 -br addr show eth0",
        "b": f"cat {tmp_path}/a; echo hello from b > {tmp_path}/b; ip -4 -br addr show eth0",
    }
    labs = [laconic("lab", "shell", "--hosts", "2", "--", "sh", "-c", words) for words in meet.values()]
    for lab, other in zip(labs, "ba", strict=True):
        code, out, err = lab.finished()
        assert (code, err) == (0, "")
        assert f"hello from {other}" in out
        assert "10.77.0.1/24" in out
        until(lambda lab=lab: gone(lab, set()))


def test_a_failing_rank_ends_the_run_with_its_code_and_each_rank_sees_its_own_counters(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import json, os, sys, torch, torch.distributed as dist, laconic; from pathlib import Path\n"
        "session = laconic.init()\n"
        "def sent():\n"
        "    lines = Path('/proc/thread-self/net/dev').read_text().splitlines()\n"
        "    line = next(line for line in lines if line.strip().startswith(os.environ['LACONIC_INTERFACE']))\n"
        "    return int(line.split()[9])\n"
        "before = sent()\n"
        "if session.rank == 0: dist.send(torch.zeros(250_000), 1)\n"
        "if session.rank == 1: dist.recv(torch.zeros(250_000), 0)\n"
        "dist.barrier()\n"
        "seen = {'sent': sent() - before, 'plan': session.plan, 'argv': sys.argv[2:], 'local': session.local_rank}\n"
        "Path(sys.argv[1], str(session.rank)).write_text(json.dumps(seen))\n"
        "sys.exit(5 if session.rank == 2 else 0)\n"
    )
    options = ("--hosts", "3", "--rate", "100mbit", "--slow", "1=0.9", "--plan", "local(8)")
    code, _, err = laconic("run", *options, str(script), str(tmp_path), "--rate", "x").finished()
    assert code == 5, err
    assert "laconic run: rank 2 (pid" in err
    assert "ended with exit code 5" in err
    seen = [json.loads((tmp_path / str(rank)).read_text()) for rank in range(3)]
    assert seen[0]["sent"] > 10**6 > 100 * 1024 > max(seen[1]["sent"], seen[2]["sent"])
    assert seen[0]["plan"].startswith("local(8)")
    assert [each["argv"] for each in seen] == [["--rate", "x"]] * 3
    assert [each["local"] for each in seen] == [0] * 3


def test_sigkill_of_the_launcher_of_a_training_run_leaves_nothing_behind(tmp_path: Path) -> None:
    before = own_links()
    script = tmp_path / "train.py"
    script.write_text(
        "import sys, torch, torch.distributed as dist, laconic; from pathlib import Path\n"
        "laconic.init()\n"
        "while True:\n"
        "    dist.all_reduce(torch.zeros(1000)); Path(sys.argv[1]).touch()\n"
    )
    lab = laconic("run", "--hosts", "2", "--rate", "100mbit", str(script), str(tmp_path / "trains"))
    until(lambda: (tmp_path / "trains").exists() or lab.process.poll() is not None)
    networks = lab.networks()
    assert len(networks) == 3  # two hosts and the switch's
    assert len(lab.processes()) >= 7  # launcher, outer, inner, command, zygote, head, ranks
    lab.process.send_signal(signal.SIGKILL)
    assert lab.finished()[0] == -signal.SIGKILL
    until(lambda: gone(lab, networks))
    assert own_links() == before


def test_interrupting_a_run_ends_it_quietly(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import signal, sys; from pathlib import Path\nPath(sys.argv[1]).touch()\nsignal.pause()\n")
    lab = laconic("run", "--hosts", "2", str(script), str(tmp_path / "runs"))
    until(lambda: (tmp_path / "runs").exists() or lab.process.poll() is not None)
    lab.process.send_signal(signal.SIGINT)
    assert lab.finished() == (130, "", "")
    until(lambda: gone(lab, set()))


LINGERING = """
import subprocess
from laconic.lab.build import build
from laconic.lab.spec import LabSpec
spec = LabSpec(2, 10**8)
with build(spec):
    held = subprocess.Popen(["ip", "netns", "exec", "host1", "sleep", "60"], stdin=subprocess.PIPE)
    while subprocess.run(["ip", "netns", "pids", "host1"], capture_output=True).stdout.strip() != b"%d" % held.pid:
        assert held.poll() is None
with build(spec):
    print("again")
held.kill()
"""


def test_a_lab_can_follow_one_whose_last_process_still_lives() -> None:
    """`laconic demo` has two, one after the other; the network of a process outlives its name."""
    command = init_command(python_again(LINGERING), user_namespace=support().user_namespace)
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "again\n"), done.stderr

"""`laconic compare` from its command line: what it refuses before any run, and three runs from end to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from laconic.cli.compare import arguments, main, read
from laconic.compare.run import Request
from laconic.core.errors import LaconicError
from laconic.lab.support import support
from tests.compare.made import written

FRAME, PAYLOAD = 1514, 1448  # bytes of a full Ethernet frame, and of those our bytes
ACK = 66  # one for two segments, at most


def asked(*argv: str) -> Request:
    args, rest = arguments(argv)
    return read(args, rest, argv)


def test_options_are_ours_and_the_rest_is_the_tasks():
    request = asked("fashion", "--model", "resnet18", "--steps", "20", "-n", "2", "--", "--lr", "0.1")
    assert request.setting.args == ("--model", "resnet18", "--lr", "0.1")
    assert (request.setting.steps, request.setting.hosts, request.setting.rate) == (20, 2, None)
    assert request.script(0).args[2:6] == ("--model", "resnet18", "--lr", "0.1")


def test_the_command_is_kept_as_it_could_be_typed():
    command = asked("digits", "--plans", "bf16; local(8)").setting.command
    assert command == "laconic compare digits --plans 'bf16; local(8)'"


def test_hosts_and_rates_make_a_lab():
    setting = asked("digits", "--hosts", "3", "--rate", "100mbit", "--slow", "2=0.25").setting
    assert (setting.lab, setting.hosts, setting.rate) == (True, 3, "100mbit")
    assert "host 2 runs 25% of the time" in setting.link
    assert asked("digits", "--hosts", "3", "--rate", "100mbit").setting.link == ""
    plain = asked("digits", "--hosts", "3", "--rate", "100mbit", "--no-lab").setting
    assert (plain.lab, plain.hosts, plain.rate) == (False, 3, None)


def test_a_target_makes_the_task_evaluate_on_its_way():
    assert asked("digits", "--until", "accuracy>=0.9").script(0).args[-2:] == ("--eval-every", "16")
    own = asked("digits", "--until", "accuracy>=0.9", "--eval-every", "5").script(0).args
    assert own[:2] == ("--eval-every", "5")
    assert own.count("--eval-every") == 1


def test_plans_come_from_a_file_too(tmp_path: Path):
    path = tmp_path / "plans.txt"
    path.write_text("# mine\nbf16\nlocal(8) / bf16\n")
    rows = asked("digits", "--plans-file", str(path), "--baselines", "ddp").rows
    assert [row.text for row in rows] == ["ddp", "bf16", "local(8) / bf16", "silent"]


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["digit"], "Did you mean 'digits'"),
        (["digits", "--plans", "topkk"], "unknown name 'topkk'"),
        (["digits", "--plans", ";"], "names no plan"),
        (["digits", "--plans-file", "/absent"], "--plans-file /absent cannot be read"),
        (["digits", "--baselines", "bf16"], "not a baseline"),
        (["digits", "--repeat", "0"], "--repeat 0"),
        (["digits", "--steps", "1"], "at least 2"),
        (["digits", "-n", "0"], "-n 0"),
        (["digits", "-n", "2", "--hosts", "2"], "both given"),
        (["digits", "--rate", "100mbit"], "--hosts N"),
        (["digits", "--limit", "nan"], "--limit nan"),
        (["digits", "--until", "accuracy"], "--until 'accuracy'"),
        (["digits", "--until", "bleu>=3"], "digits reports accuracy, loss"),
        (["digits", "--repeats", "3"], "Did you mean '--repeat'"),
        (["digits", "--plan", "bf16"], "Did you mean '--plans'"),
        (["digits", "--", "--plan", "bf16"], "--plans"),
        (["digits", "--json", "/proc/x.json"], "--json /proc/x.json cannot be written"),
        (["digits", "--html", "/"], "--html / cannot be written"),
        (["digits", "--html", "a", "--json", "a"], "Name two files"),
    ],
)
def test_what_cannot_work_is_refused_before_any_run(argv: list[str], sentence: str):
    with pytest.raises(LaconicError) as refused:
        main(argv)
    assert sentence in str(refused.value)


def test_digits_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("sklearn")
    out, html = tmp_path / "out.json", tmp_path / "deep" / "out.html"
    argv = ["digits", "-n", "2", "--steps", "12", "--repeat", "2", "--plans", "local(4)", "--baselines", "ddp+bf16"]
    code = main([*argv, "--until", "accuracy>=0.0", "--json", str(out), "--html", str(html), "--batch", "4"])
    assert code == 0
    shown = capsys.readouterr()
    assert shown.err.count("/step") == 8  # no terminal: one line a run
    found = json.loads(out.read_text())
    assert [row["plan"] for row in found["rows"]] == ["ddp", "ddp+bf16", "local(4)", "silent"]
    assert [row["baseline"] for row in found["rows"]] == [True, True, False, False]
    ddp, bf16, local, floor = found["rows"]
    assert ddp["ratio_to_ddp"] == 1.0
    assert max(ddp["ratio_to_best_baseline"], bf16["ratio_to_best_baseline"]) == 1.0
    assert local["ratio_to_ddp"] == pytest.approx(ddp["step_s"]["median"] / local["step_s"]["median"])
    assert local["compute_s"] + local["exposed_s"] == pytest.approx(local["step_s"]["median"])
    assert bf16["wire_bytes_per_step"] == pytest.approx(ddp["wire_bytes_per_step"] / 2, rel=0.01)
    assert floor["wire_bytes_per_step"] == 0
    assert all(row["tx_bytes_per_step"] is None for row in found["rows"])  # no lab
    assert ddp["metrics"].keys() == {"accuracy", "loss"}
    assert ddp["to_target"]["runs"] == 2
    assert "local(4)" in shown.out
    assert "loopback" in shown.out
    assert "accuracy against time" in html.read_text()


def test_the_first_run_of_a_row_trains_like_every_other_with_its_seed(tmp_path: Path):
    """Repetitions differ by their seeds, rows do not: without talk and with one process all train alike."""
    pytest.importorskip("sklearn")
    out = tmp_path / "out.json"
    argv = ["digits", "-n", "1", "--steps", "6", "--repeat", "2", "--plans", "none", "--baselines", "ddp"]
    assert main([*argv, "--json", str(out)]) == 0
    rows = json.loads(out.read_text())["rows"]
    losses = [[run["points"][-1]["metrics"]["loss"] for run in row["runs"]] for row in rows]
    assert losses[0] == losses[1] == losses[2]
    assert losses[0][0] != losses[0][1]


def test_a_failed_row_ends_with_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "train.py"
    path.write_text("raise SystemExit('out of luck')")
    assert main([str(path), "-n", "1", "--repeat", "1", "--baselines", "ddp", "--plans", "bf16"]) == 1
    assert "out of luck" in capsys.readouterr().out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_shows_what_is_finished(tmp_path: Path, number: signal.Signals, code: int):
    path, out, began = tmp_path / "train.py", tmp_path / "out.json", tmp_path / "began"
    os.mkfifo(began)
    path.write_text(f"import signal; open({str(began)!r}, 'w').close(); signal.pause()")
    command = [sys.executable, "-m", "laconic.cli", "compare", str(path), "-n", "1", "--json", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        began.read_text()  # the first rank runs
        process.send_signal(number)
        shown, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == code
    assert "Stopped early: 0 of 27 runs" in shown
    assert json.loads(out.read_text())["complete"] is False


@pytest.mark.skipif(support().fault is not None, reason=f"no lab here: {support().fault}")
def test_our_bytes_are_the_interfaces_bytes(tmp_path: Path):
    """Within 3% plus TCP/IP's overhead. Segments may leave in one piece, so the overhead is an upper bound.

    What a step gives to the kernel may leave in the next one, so there are enough steps for that not to matter. They
    are long enough for the end of the first broadcast to have left when counting begins, even if nobody waits for it.
    """
    pause = "__import__('time').sleep(0.01)"
    out, script = tmp_path / "out.json", written(tmp_path, width=700, steps=48, body=pause)
    options = ["--hosts", "2", "--rate", "1gbit", "--repeat", "1", "--json", str(out)]
    plans = ["--plans", "none; qsgd(bits=4)", "--baselines", "ddp+bf16"]
    command = [sys.executable, "-m", "laconic.cli", "compare", script, *options, *plans]
    subprocess.run(command, check=True, timeout=110, capture_output=True)
    rows: list[dict[str, Any]] = json.loads(out.read_text())["rows"]
    assert [row["plan"] for row in rows] == ["ddp", "ddp+bf16", "none", "qsgd(bits=4)", "silent"]
    for row in rows[:-1]:
        ours, interface = row["wire_bytes_per_step"], row["tx_bytes_per_step"]
        assert 0.97 * ours <= interface <= 1.03 * ours * (FRAME + ACK / 2) / PAYLOAD, row["plan"]
    assert rows[-1]["wire_bytes_per_step"] == 0
    assert rows[-1]["tx_bytes_per_step"] < 1000

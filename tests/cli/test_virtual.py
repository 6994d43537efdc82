"""`laconic simulate PLAN --train TASK` as users call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from laconic.cli import main, virtual_memory
from laconic.cli.virtual import UNTIMED
from laconic.sim.changing import ADAPTS
from laconic.tasks.examples import DataError
from laconic.tasks.fashion_mnist import load


def _has(task: str) -> bool:
    if task == "digits":
        pytest.importorskip("sklearn")
    if task == "fashion":
        try:
            load(None)
        except DataError:
            return False
    return True


@pytest.mark.parametrize("task", ["digits", "bytes", "fashion"])
def test_every_task_can_be_trained(task: str, capsys: pytest.CaptureFixture[str]) -> None:
    if not _has(task):
        pytest.skip("its images are not on this machine")
    words = ["simulate", "ef(topk(0.1))", "--train", task, "--workers", "3", "--steps", "2", "--json"]
    assert main(words) == 0
    (run,) = json.loads(capsys.readouterr().out)["rows"]
    assert [p["step"] for p in run["points"]] == [1, 2]
    assert run["points"][-1]["metrics"]["loss"] > 0


def test_more_workers_than_fit_into_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 90000 kB\nMemAvailable: 20000 kB\n")
    monkeypatch.setattr(virtual_memory, "MEMINFO", meminfo)
    assert main(["simulate", "none", "--train", "digits", "--workers", "2,64", "--steps", "2"]) == 2
    said = capsys.readouterr().err
    assert "64 virtual workers need about" in said
    assert "20.5 MB are available" in said


def test_a_plan_that_leaves_the_rounds_is_refused_before_anything_is_computed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["simulate", "asp / ps", "--train", "digits", "--workers", "4"]) == 2
    assert "do not wait" in capsys.readouterr().err


def test_each_phase_of_a_training_has_its_own_time(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    words = ["--train", "digits", "--workers", "4", "--steps", "4", "--compute", "1ms", "--link", "10mbit:1ms"]
    plans = ["post_local(2, h=2)", "none", "local(2)"]
    assert main(["simulate", *plans, *words, "--json"]) == 0
    both, bsp, local = json.loads(capsys.readouterr().out)["rows"]
    assert [p["seconds"] for p in both["points"][:2]] == [p["seconds"] for p in bsp["points"][:2]]
    assert [p["step_s"] for p in both["phases"]] == [bsp["step_s"], local["step_s"]]
    assert "declared" in both["notes"]
    assert main(["simulate", plans[0], *words]) == 0
    assert "  from step 3 on: " in capsys.readouterr().out


def test_in_a_training_only_times_are_those_of_the_beginning(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    words = ["--train", "digits", "--workers", "4", "--steps", "4", "--compute", "1ms", "--json"]
    assert main(["simulate", "cgx(0.05)", *words]) == 0
    said = json.loads(capsys.readouterr().out)["rows"][0]["notes"]
    assert UNTIMED in said
    assert ADAPTS not in said


def test_who_logs_no_decisions_still_says_what_its_times_are(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    words = ["--train", "digits", "--workers", "4", "--steps", "4", "--compute", "1ms", "--json"]
    assert main(["simulate", "laq", *words]) == 0
    assert ADAPTS in json.loads(capsys.readouterr().out)["rows"][0]["notes"]

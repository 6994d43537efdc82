from __future__ import annotations

from pathlib import Path

import pytest

from laconic.compare.target import read
from laconic.compare.workload import TASKS, check_target, workload
from laconic.core.errors import UsageError


def test_a_task_is_told_steps_and_a_seed_for_every_repetition():
    work = workload("bytes", ["--layers", "2"], 12)
    first, second = work.script(0), work.script(1)
    assert (first.target, first.is_module) == ("laconic.tasks.bytes", True)
    assert first.args == ("--batch", "1", "--layers", "2", "--steps", "12", "--seed", "0")
    assert second.args[-2:] == ("--seed", "1")
    assert work.last_step is None


def test_the_users_own_seed_is_the_first_one():
    assert workload("digits", ["--seed", "7"], None).script(2).args[-1] == "9"


def test_tasks_are_made_short_unless_told_otherwise():
    assert workload("fashion", [], None).script(0).args[:2] == ("--eval-images", "2000")
    assert workload("bytes", ["--batch", "2"], None).script(0).args[:4] == ("--batch", "1", "--batch", "2")
    assert workload("fashion", ["--eval-images", "9"], None).script(0).args[2:4] == ("--eval-images", "9")


def test_the_batch_of_a_task_is_known(tmp_path: Path):
    (tmp_path / "train.py").write_text("")
    assert workload("bytes", [], None).batch == 1
    assert workload("bytes", ["--batch", "2"], None).batch == 2
    assert workload(str(tmp_path / "train.py"), ["--batch", "2"], None).batch is None


def test_every_task_has_its_usual_number_of_steps():
    assert {name: workload(name, [], None).steps for name in TASKS} == TASKS


def test_a_script_keeps_its_arguments_and_is_ended_after_the_steps(tmp_path: Path):
    path = tmp_path / "train.py"
    path.write_text("")
    work = workload(str(path), ["--lr", "1"], 12)
    assert work.script(3).args == ("--lr", "1")
    assert (work.script(0).is_module, work.last_step) == (False, 12)
    assert workload(str(path), [], None).last_step is None


def test_a_misspelt_task_gets_the_near_one():
    with pytest.raises(UsageError, match=r"no task or script 'digit'\. Did you mean 'digits'"):
        workload("digit", [], None)


def test_one_step_cannot_be_timed():
    with pytest.raises(UsageError, match="at least 2"):
        workload("digits", [], 1)


@pytest.mark.parametrize("own", [["--plan", "bf16"], ["--json", "x"]])
def test_what_compare_decides_cannot_be_given_to_the_task(own: list[str]):
    with pytest.raises(UsageError, match="--plans"):
        workload("digits", own, None)


def test_an_argument_the_task_does_not_know_is_refused_before_any_run(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        workload("digits", ["--models", "resnet18"], None)
    assert ended.value.code == 2
    assert "unrecognized arguments: --models" in capsys.readouterr().err


def test_a_target_the_task_does_not_report_is_refused():
    work = workload("digits", [], None)
    check_target(work, read("accuracy>=0.9"))
    with pytest.raises(UsageError, match="digits reports accuracy, loss"):
        check_target(work, read("perplexity<3"))

"""Real jobs of two ranks over loopback, with scripts of a few lines."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pytest

from laconic.compare import run as run_module
from laconic.compare.lines import Comparison, Setting, lines
from laconic.compare.order import Turn
from laconic.compare.rows import choose
from laconic.compare.run import Request, last_line, last_words, plan_turns, run_all
from laconic.compare.show import Show
from laconic.compare.workload import workload
from laconic.launch.job import Site, local_sites
from tests.compare.made import run, written
from tests.lab.machine import laconic, needs_lab


def compared(script: str, plans: Sequence[str], *, steps: int | None = None, repeat: int = 1) -> Comparison:
    work = workload(script, [], steps)
    rows = choose(plans, [])
    setting = Setting(script, (), 2, None, steps, repeat)
    request = Request(setting, rows, work.script, limit_s=60.0, last_step=work.last_step)
    return run_all(request, local_sites(2), Show(plan_turns(request), io.StringIO()))


def test_a_users_script_is_compared_unchanged(tmp_path: Path):
    made = compared(written(tmp_path), ["local(2)"], repeat=2)
    ddp, plan, floor = lines(made)
    assert (ddp.row.text, plan.row.text, floor.row.text) == ("ddp", "local(2)", "silent")
    assert [line.runs for line in (ddp, plan, floor)] == [2, 2, 2]
    assert ddp.wire_bytes == 64 * 65 * 4  # of two ranks each sends everything once
    assert plan.wire_bytes is not None
    assert 0.5 * ddp.wire_bytes <= plan.wire_bytes < 0.55 * ddp.wire_bytes
    assert floor.wire_bytes == 0
    assert ddp.metrics.keys() == plan.metrics.keys() == {"loss"}
    assert (ddp.exposed_by, plan.exposed_by) == ("step minus floor", "measured")
    assert not made.failed


def test_a_script_that_would_train_on_is_ended_after_the_steps_asked_for(tmp_path: Path):
    made = compared(written(tmp_path), [], steps=5)
    assert {run.steps for result in made.results for run in result.runs} == {5}
    assert not made.failed


def test_a_row_that_fails_is_shown_with_its_last_lines_and_the_others_go_on(tmp_path: Path):
    made = compared(written(tmp_path, body="assert str(session.plan) != 'ddp', 'no such luck'"), [], repeat=2)
    ddp, floor = lines(made)
    assert made.failed
    assert ddp.failure is not None
    assert ddp.failure.splitlines()[0].startswith("Rank ")
    assert "(repetition 1 of 2)" in ddp.failure.splitlines()[0]
    assert "AssertionError: no such luck" in ddp.failure
    assert floor.runs == 2


def test_a_script_with_a_plan_of_its_own_is_told_to_leave_it_out(tmp_path: Path):
    ddp, floor = lines(compared(written(tmp_path, plan=', "silent"'), []))
    assert ddp.failure is not None
    assert "Leave the plan out of laconic.distribute" in ddp.failure
    assert floor.failure is None


def test_a_script_without_laconic_is_told_so(tmp_path: Path):
    path = tmp_path / "train.py"
    path.write_text("print('trained')")
    (ddp, _) = lines(compared(str(path), []))
    assert ddp.failure is not None
    assert "never called laconic.distribute" in ddp.failure
    assert "trained" in ddp.failure


def faked(answers: list[object], monkeypatch: pytest.MonkeyPatch) -> Comparison:
    """Runs that answer, in turn, with a run, a reason to fail, or an interruption."""
    asked = iter(answers)

    def once(request: Request, turn: Turn, sites: Sequence[Site], show: Show) -> object:
        answer = next(asked)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    monkeypatch.setattr(run_module, "run_once", once)
    return compared(__file__, [], repeat=2)  # ddp, silent, silent, ddp


def test_an_interruption_keeps_what_is_finished(monkeypatch: pytest.MonkeyPatch):
    made = faked([run(1.0), run(2.0), KeyboardInterrupt()], monkeypatch)
    assert not made.complete
    assert [len(result.runs) for result in made.results] == [1, 1]


def test_a_row_that_failed_is_not_tried_again(monkeypatch: pytest.MonkeyPatch):
    made = faked(["broken", run(2.0), run(2.0)], monkeypatch)
    assert made.complete
    assert [result.failure for result in made.results] == ["broken", None]


def test_a_run_that_hangs_is_ended(tmp_path: Path):
    path = tmp_path / "train.py"
    path.write_text("import signal; signal.pause()")
    work = workload(str(path), [], None)
    request = Request(Setting(str(path), (), 1, None, None, 1), choose([], []), work.script, limit_s=0.3)
    made = run_all(request, local_sites(1), Show(plan_turns(request), io.StringIO()))
    assert all("did not finish within 0.3 s" in str(result.failure) for result in made.results)


def test_the_last_line_is_shown_without_what_would_move_the_cursor(tmp_path: Path):
    log = tmp_path / "log"
    assert last_line(log) == ""
    log.write_bytes(b"first\nstep 1\rstep 2\x1b[K \x1b[31mred\x07\n\n")
    assert last_line(log).split() == ["step", "2", "red"]
    assert last_words(log).startswith("first\nstep 1\nstep 2")


def test_the_first_error_is_told_where_later_ones_bury_it(tmp_path: Path):
    log = tmp_path / "log"
    log.write_text("step 1\nPlanError: no key\n" + "Traceback\n  File\nBrokenPipeError: [Errno 32]\n" * 40)
    words = last_words(log).splitlines()
    assert words[:2] == ["PlanError: no key", "..."]
    assert len(words) == 2 + run_module.LAST_LINES
    log.write_text("step 1\nPlanError: no key\n")
    assert last_words(log) == "step 1\nPlanError: no key"


@needs_lab
@pytest.mark.timeout(300)
def test_plans_with_servers_are_compared_on_emulated_hosts() -> None:
    """Servers on several hosts want a key; `laconic run --hosts` makes one, and so must this."""
    small = ("--layers", "1", "--width", "32", "--heads", "1", "--batch", "2", "--eval-windows", "8")
    rows = ("--plans", "ps(colocated)", "--baselines", "ddp", "--steps", "3", "--repeat", "1")
    code, out, err = laconic("compare", "bytes", *small, *rows, "--hosts", "2").finished()
    assert code == 0, err
    assert "FAILED" not in out

"""The demo's table and its honesty; the runs themselves are `make demo`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from laconic.cli import demo
from laconic.cli.demo import BASELINE, PLANS, Row, command, ratio, remarks, row, table
from laconic.core.errors import LaconicError
from laconic.plan import check_text

DDP = Row(BASELINE, accuracy=0.97, wire_bytes=1_500_000, step_s_median=0.010, step_s_mean=0.020)
FAST = Row("local(8)", accuracy=0.96, wire_bytes=187_500, step_s_median=0.005, step_s_mean=0.010)
SLOW = Row("qsgd(bits=4)", accuracy=0.97, wire_bytes=200_000, step_s_median=0.03, step_s_mean=0.04)


@pytest.mark.parametrize("plan", PLANS)
def test_every_plan_of_the_demo_is_a_plan(plan: str) -> None:
    assert check_text(check_text(plan)) == check_text(plan)


def test_the_demo_types_what_a_user_would_type() -> None:
    words = " ".join(command("local(8)", Path("out.json"))[1:])
    assert words.startswith("-m laconic.cli run -n 4 --plan local(8) -m laconic.tasks.digits ")
    assert words.endswith("--json out.json")


def test_a_row_is_read_from_the_tasks_line() -> None:
    line = {
        "metrics": {"accuracy": 0.97, "loss": 0.1},
        "wire_bytes_per_step": 1_500_000,
        "step_s_median": 0.010,
        "step_s": {"min": 0.009, "mean": 0.020, "max": 0.5},
    }
    assert row(BASELINE, line) == DDP


def test_above_one_is_faster_than_ddp() -> None:
    rows = [DDP, FAST, SLOW]
    assert [ratio(row, rows) for row in rows] == [1.0, 2.0, 0.5]


def test_the_table_has_a_line_a_plan_in_aligned_columns() -> None:
    lines = table([DDP, FAST, SLOW]).splitlines()
    assert len(lines) == 4
    assert lines[1].split() == ["ddp", "97.0%", "1.5", "MB", "10.0", "ms", "20.0", "ms", "1.00"]
    assert len({len(line) for line in lines}) == 1


def test_a_plan_slower_than_ddp_is_named() -> None:
    assert "Slower than DDP here: qsgd(bits=4)." in remarks([DDP, FAST, SLOW])
    assert "No plan was slower" in remarks([DDP, FAST])


def test_loopback_is_said_not_to_be_a_slow_network() -> None:
    assert "loopback, which is not a slow network" in remarks([DDP, FAST])


def test_a_failed_run_shows_its_own_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = [sys.executable, "-c", "import sys; sys.exit('no data')"]
    monkeypatch.setattr(demo, "command", lambda plan, out: failing)
    with pytest.raises(LaconicError, match=r"(?s)the plan local\(8\) failed:.*no data"):
        demo.measure("local(8)")


def test_a_run_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = [sys.executable, "-c", "import signal; signal.pause()"]
    monkeypatch.setattr(demo, "command", lambda plan, out: waiting)
    monkeypatch.setattr(demo, "LIMIT_S", 0.5)
    with pytest.raises(LaconicError, match=r"did not finish within 0\.5 s"):
        demo.measure("local(8)")

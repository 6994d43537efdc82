"""`laconic run --trace`: real ranks, one trace, and steps that add up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import laconic
from laconic import pricing
from laconic.cli.traced import finish, traced
from laconic.trace.account import account
from laconic.trace.merge import parts, read_rank
from tests.processes import results
from tests.replica.loops import batches, fit, mlp, sgd

PHASES = {"ready", "wait", "encode", "launch", "wire", "decode", "apply", "compute", "optimizer"}


def _trained(rank: int, world: int, plan: str) -> None:
    import atexit

    laconic.init(timeout_s=30)
    model = mlp(rank)
    optimizer = sgd(model)
    pricing.SIZES = (2**10, 2**13)
    laconic.distribute(model, optimizer, plan)
    fit(model, optimizer, batches(rank, 12))
    atexit._run_exitfuncs()  # test ranks end by os._exit


@pytest.mark.parametrize("plan", ["fused(4KiB, first=1KiB)", "crossed(2KiB, guard=off)"])
def test_all_phases_of_all_ranks_end_in_one_trace(plan: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "trace.json"
    results(2, _trained, plan, env={"LACONIC_TRACE": str(out)})
    accounts = [account(read_rank(p).spans) for p in parts(out)]
    finish(out)
    events = json.loads(out.read_text())["traceEvents"]
    assert {e["name"] for e in events if e["ph"] != "M"} == PHASES
    assert {e["pid"] for e in events} == {0, 1}
    assert any(e["name"] == "wire" and e["args"]["bucket"] == 0 for e in events)
    assert not parts(out)
    assert all(a is not None and a.adds_up for a in accounts), accounts
    assert "adds up" in capsys.readouterr().err


def test_a_job_that_left_nothing_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "trace.json"
    (tmp_path / "trace.json.rank7").write_text("of an earlier run")
    with traced(out):
        pass
    assert not out.exists()
    assert "no rank left a trace" in capsys.readouterr().err


def test_without_the_option_nothing_happens(tmp_path: Path):
    with traced(None):
        pass
    assert not list(tmp_path.iterdir())

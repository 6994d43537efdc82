"""`laconic simulate` as users call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from laconic.cli import main
from laconic.sim.changing import ADAPTS
from laconic.sim.model import table


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "model.json"
    table("tiny", [("a", (400, 300)), ("b", (300,)), ("c", (300, 100))], [0.01] * 3, batch=4).write(path)
    return str(path)


def test_a_table_of_plans_and_workers(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "ddp", "ef(topk(0.01))", "gossip(ring)", "--model", model, "--workers", "2,8"]
    assert main([*words, "--link", "100mbit:1ms"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("tiny: 0.2 M parameters, batch 4 a worker, 30 ms forward, 60 ms backward")
    assert len(out) == 2 + 6
    assert out[2].split()[:2] == ["ddp", "2"]


def test_stragglers_regions_and_a_timeline(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.json"
    words = ["simulate", "none", "--model", model, "--workers", "8", "--link", "1gbit:50us", "--json"]
    assert main(words) == 0
    alone = json.loads(capsys.readouterr().out)["rows"][0]
    more = ["--stragglers", "slow(2, 1)", "--regions", "2", "--across", "10mbit:30ms", "--timeline", str(trace)]
    assert main([*words, *more]) == 0
    slow = json.loads(capsys.readouterr().out)["rows"][0]
    assert slow["step_s"] > 2 * alone["step_s"]
    events = json.loads(trace.read_text())["traceEvents"]
    assert {"main"} < {e["tid"] for e in events}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["none", "--link", "fast"], "rate and its latency"),
        (["none", "--workers", "many"], "write numbers"),
        (["none", "--model", "alexnet"], "no built-in model"),
        (["none", "--stragglers", "all"], "lognormal"),
        (["none", "--regions", "3"], "how they are connected (--across)"),
        (["none", "--across", "1gbit:30ms"], "how many there are (--regions)"),
        (["none", "--regions", "0"], "0 regions: give at least 1"),
        (["none", "--overlap", "0"], "share above 0"),
        (["none", "--train", "poems"], "no such task"),
        (["none", "--steps", "9"], "is for --train"),
        (["none", "--seed", "9"], "is for --stragglers that vary"),
        (["none", "--seed", "9", "--stragglers", "slow(3, 1)"], "is for --stragglers that vary"),
        (["none", "--seed", "-1", "--stragglers", "exp(0.1)"], "--seed -1: give at least 0"),
        (["none", "--seed", "-1", "--train", "digits"], "--seed -1: give at least 0"),
        (["none", "--train", "digits", "--model", "vgg16"], "no place beside --train"),
        (["none", "--model", "model.json", "--tflops", "9"], "built-in models"),
        (["none", "--compute", "9ms", "--tflops", "9"], "say the same"),
        (["gossip(ring)", "--workers", "1", "--timeline", "/tmp/never.json"], "no step to draw"),
        (["nothing"], "unknown name"),
        (["none", "--batch", "-1"], "--batch -1: give at least 1"),
        (["none", "--batch", "0"], "--batch 0: give at least 1"),
        (["none", "--train", "digits", "--batch", "0"], "--batch 0: give at least 1"),
        (["none", "--tflops", "0"], "--tflops 0: give a number above 0"),
        (["none", "--tflops", "-1"], "--tflops -1: give a number above 0"),
        (["none", "--compute", "0ms", "--workers", "1"], "--compute 0ms: give a time above 0"),
        (["none", "--coding", "nan"], "must be above 0"),
        (["none", "--stragglers", "slow(3, 5)", "--workers", "4,4"], "with --workers 4 there are no 5 to be slow"),
        (["none", "--stragglers", "lognormal(0)", "--seed", "3"], "nothing would vary"),
        (
            ["none", "--regions", "8", "--across", "1gbit:1ms", "--workers", "4,3"],
            "with --workers 4: some",
        ),
        (["none", "--own", "3=1gbit", "--workers", "3,2"], "with --workers 3 the last is 2"),
        (["none", "--own", "3=1gbit:50us"], "an equals sign and its rate"),
        (["none", "--own", "third=1gbit"], "an equals sign and its rate"),
        (["none", "--own", "3=1gbit", "--own", "3=2gbit"], "names worker 3 twice"),
        (["none", "--own", "3=10gbit"], "the rate of every link"),
        (["asp / ps", "--timeline", "/tmp/never.json"], "'asp / ps' is raced"),
    ],
)
def test_what_cannot_be_simulated_is_refused(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_a_plan_that_does_not_fit_says_so_in_its_row(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "allreduce(torus, rows=3)", "--model", model, "--workers", "4"]) == 0
    assert "cannot stand in 3 equal rows" in capsys.readouterr().out


def test_a_curve_may_begin_where_not_all_that_was_said_has_a_place(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["none", "--model", model, "--workers", "1,4", "--regions", "4", "--across", "1gbit:1ms"]
    assert main(["simulate", *words, "--stragglers", "slow(3, 2)"]) == 0
    first, second = capsys.readouterr().out.splitlines()[2:4]
    assert "4 regions with --workers 1: some would be empty" in first
    assert second.endswith("stragglers")


def test_training_with_virtual_workers(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    words = ["simulate", "ef(topk(0.1))", "--train", "digits", "--workers", "8", "--steps", "4", "--json"]
    assert main(words) == 0
    said = json.loads(capsys.readouterr().out)
    (run,) = said["rows"]
    assert (said["task"], said["model"], said["steps"], said["batch"]) == ("digits", None, 4, 16)
    assert [p["step"] for p in run["points"]] == [1, 2, 3, 4]
    assert run["points"][-1]["seconds"] == pytest.approx(4 * run["step_s"])


def test_what_a_measured_order_kept_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "planned", "none", "--workers", "4", "--link", "1gbit:100us"]) == 0
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert len(notes) == 1
    assert notes[0].startswith("  planned, 4 workers: planned")
    assert "after a trial" in notes[0]


def test_what_decides_while_it_trains_is_told(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "ef(paced(topk(0.1)))", "--model", model]
    assert main(words) == 0
    assert f"  ef(paced(topk(0.1))), 4 workers: {ADAPTS}." in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    assert ADAPTS in json.loads(capsys.readouterr().out)["rows"][0]["notes"]


def test_a_plan_that_cannot_be_for_this_model_leaves_other_rows_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "tac", "none", "--workers", "4"]) == 0
    out = capsys.readouterr().out
    assert "161 parameters by times takes minutes" in out
    assert any(line.startswith("none") and "ms" in line for line in out.splitlines())


def test_json_has_all_settings(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = "--workers 8 --link 1gbit:50us --own 3=100mbit --regions 2 --across 10mbit:30ms --stragglers exp(0.1)"
    more = "--seed 5 --cores 2 --overlap 0.5 --coding 4 --compute 90ms --json"
    assert main(["simulate", "none", "--model", model, *words.split(), *more.split()]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said.pop("rows")
    assert said.pop("compute_s") == pytest.approx(0.09)
    assert said == {
        "model": "tiny",
        "task": None,
        "steps": None,
        "parameters": 150_300,
        "batch": 4,
        "link": "1gbit:50us",
        "own": ["3=100mbit"],
        "regions": 2,
        "across": "10mbit:30ms",
        "overlap": 0.5,
        "cores": 2.0,
        "coding": 4.0,
        "stragglers": "exp(0.1)",
        "seed": 5,
    }


def test_a_line_of_its_own_slows_who_waits_for_it(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "none", "--model", model, "--link", "1gbit:50us", "--json"]
    steps = []
    for own in ([], ["--own", "3=10mbit"], ["--own", "3=10mbit", "--own", "1=20mbit"]):
        assert main([*words, *own]) == 0
        steps.append(json.loads(capsys.readouterr().out)["rows"][0]["step_s"])
    assert steps[0] < steps[1] == steps[2]  # a ring is as slow as its slowest line


def test_waiting_for_slow_workers_is_not_computing(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "none", "local(8)", "--link", "100gbit:1us", "--workers", "16", "--json"]
    assert main([*words, "--stragglers", "slow(10, 1)"]) == 0
    for found in json.loads(capsys.readouterr().out)["rows"]:
        assert found["bottleneck"] == "stragglers"
        assert found["stragglers_s"] == pytest.approx(found["exposed_s"], rel=0.1)
        assert found["speedup"] == pytest.approx(16 / 10, rel=0.05)


def test_a_timeline_says_what_it_shows(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.json"
    words = ["simulate", "none", "asp / ps", "--model", model, "--stragglers", "slow(5, 1)"]
    assert main([*words, "--timeline", str(trace)]) == 0
    said = capsys.readouterr().err
    assert "trace.json shows a step of 'none', --workers 4, without stragglers ('asp / ps' is raced" in said
    assert json.loads(trace.read_text())["traceEvents"]

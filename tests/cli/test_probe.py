"""`laconic probe` and `laconic profile` with real processes, once each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import pytest

from laconic.cli import main
from laconic.cli.machine import cores
from laconic.cli.probe import finished, measure
from laconic.cli.profile import run
from laconic.launch.job import Script, Site, local_sites
from laconic.planner.network_file import read_network
from laconic.planner.profiler import SHORT
from laconic.sim.model import ModelTable, Weight, read_model

ALONE = {"world": 1, "machines": 1, "curves": {}, "cpu": {}, "pairs": []}
SCRIPT = """
import torch, laconic
laconic.init()
model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
laconic.distribute(model, optimizer)
while True:
    model(torch.ones(4, 20)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_script_is_profiled_without_edits_and_two_processes_are_probed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, model, network = tmp_path / "train.py", tmp_path / "model.json", tmp_path / "network.json"
    script.write_text(SCRIPT)
    assert main(["profile", str(script), "-o", str(model)]) == 0
    table = read_model(model)
    assert [w.shape for w in table.weights] == [(30, 20), (30,), (2, 30), (2,)]
    assert (table.batch, table.name) == (4, str(script))
    assert table.forward_s > 0
    assert main(["probe", "-n", "2", "--quick", "-o", str(network)]) == 0
    found = read_network(network)
    assert (found.world, found.machines) == (2, 1)
    assert set(found.curves) == set(found.cpu) == {"reduce", "gather", "deal", "post"}
    assert found.line.beta_s > 0
    assert found.touch_s > 0
    assert len(found.pairs) == 2
    capsys.readouterr()
    assert main(["plan", "--model", str(model), "--network", str(network), "--workers", "2,8", "--why"]) == 0
    assert "8 workers" in capsys.readouterr().out


def test_ranks_that_meet_in_exchanges_of_the_scripts_own_may_see_enough_at_different_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, model = tmp_path / "train.py", tmp_path / "model.json"
    loop = SCRIPT.replace("import torch, laconic", "import time, torch, laconic, torch.distributed as dist")
    busy = (
        "    until = time.process_time() + (0.03, 0.06)[dist.get_rank()]\n    while time.process_time() < until: pass\n"
    )
    script.write_text(loop + busy + "    dist.all_reduce(torch.ones(1))\n")
    assert main(["profile", str(script), "-n", "2", "-o", str(model)]) == 0
    assert read_model(model).other_s > 0.02
    assert not capsys.readouterr().err  # the slower one failed


def test_a_script_that_ends_too_early_says_after_how_many_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.replace("while True:", "for _ in range(5):"))
    assert main(["profile", str(script), "-o", str(tmp_path / "model.json")]) == 2
    assert "The script ends after 5 steps, too few to measure one: 23 are needed." in capsys.readouterr().err


def test_a_script_with_a_plan_of_its_own_is_told_to_leave_it_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under any other plan than silent, exchanges would count as computing."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.replace("(model, optimizer)", "(model, optimizer, 'bf16')"))
    assert main(["profile", str(script), "-n", "3", "-o", str(tmp_path / "model.json")]) == 2
    failed, first, *_ = capsys.readouterr().err.splitlines()
    assert failed.endswith("failed: exit code 1.")
    assert "Leave the plan out of laconic.distribute(model, optimizer)" in first  # however much other ranks say


def test_a_script_that_fails_leaves_the_profile_of_its_steps_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, model = tmp_path / "train.py", tmp_path / "model.json"
    script.write_text(SCRIPT.replace("while True:", "for i in range(99):\n    if i == 30: raise ValueError('no data')"))
    assert main(["profile", str(script), "-o", str(model)]) == 0
    said = capsys.readouterr().err
    assert f"{script} failed after 30 steps: exit code 1. The profile is of these steps." in said
    assert "ValueError: no data" in said
    assert read_model(model).forward_s > 0


class Ended:
    """Rank 0 failed when rank 1 had seen enough and left; both left a table."""

    def __init__(self, script: Script, sites: Sequence[Site], *, env: Mapping[str, str], output: Path) -> None:
        folder = Path(env["LACONIC_PROFILE"])
        weight = Weight("w", (2, 3), forward_s=0.1, backward_s=0.2, first_use=0, ready=0)
        for rank in range(2):
            ModelTable("m", (weight,), batch=rank).write(folder / f"rank{rank}.json")
        (folder / f"rank0{SHORT}").write_text("30")
        output.write_text("ConnectionError: rank 1 has left\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def wait(self, timeout_s: float) -> int:
        return 1


def test_a_rank_that_fails_because_another_has_seen_enough_says_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("laconic.cli.profile.Job", Ended)
    assert run(Script("train.py", is_module=False, args=()), local_sites(2), "train.py").batch == 1  # of rank 1
    assert not capsys.readouterr().err


def test_a_script_without_the_line_is_told_which(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "train.py"
    script.write_text("print('trained')")
    assert main(["profile", str(script), "-o", str(tmp_path / "model.json")]) == 2
    assert "add `replica = laconic.distribute(model, optimizer)`" in capsys.readouterr().err


def test_a_script_that_takes_too_long_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "train.py"
    script.write_text("import signal; signal.pause()")
    monkeypatch.setattr("laconic.cli.profile.LIMIT_S", 0.5)
    assert main(["profile", str(script), "-o", str(tmp_path / "model.json")]) == 2
    assert "failed: it took longer than 0.5 s." in capsys.readouterr().err


@pytest.mark.parametrize(("told", "found"), [({"cores": 64}, 64), ({}, cores())])
def test_a_raw_file_says_itself_how_many_cores_there_were(told: dict[str, int], found: int, tmp_path: Path) -> None:
    """Older ones do not; the machine that finishes them must do then."""
    raw, network = tmp_path / "raw.json", tmp_path / "network.json"
    raw.write_text(json.dumps({**ALONE, **told}))
    assert main(["probe", "--raw", str(raw), "--quick", "-o", str(network)]) == 0
    assert read_network(network).cores == found


class Pinned(Ended):
    """Its ranks think otherwise, as in a lab, where each may be tied to one core."""

    def __init__(self, script: Script, sites: Sequence[Site], *, env: Mapping[str, str] | None, output: Path) -> None:
        Path(script.args[0]).write_text(json.dumps({**ALONE, "cores": 10**6}))

    def wait(self, timeout_s: float) -> int:
        return 0


def test_ranks_started_here_have_the_cores_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("laconic.cli.probe.Job", Pinned)
    assert finished(measure(local_sites(2)), "", {}).cores == cores()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"world": 1, "machines": 1, "cores": 0, "curves": {}, "cpu": {}, "pairs": []}', "cores is 0"),
        ('{"name": "m", "parameters": []}', "'name' has no meaning in it"),
        ("{}", "'world' is missing"),
        ("[1, 2]", "what it holds is list"),
        ('{"world": 1, "machines": 1, "curves": {}, "cpu": {}, "pairs": [], "tiny": {"alone": "long"}}', "tiny.alone"),
        (
            '{"world": 1, "machines": 1, "curves": {}, "cpu": {}, "pairs": [], "tiny": {"other": [1, 1]}}',
            "'alone' is missing",
        ),
        (
            '{"world": 4, "machines": 1, "curves": {"post": {"sizes": [1], "seconds": [1]}}, "cpu": {}, "pairs": []}',
            "'reduce' is missing",
        ),
    ],
)
def test_a_raw_file_of_something_else_is_refused(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "raw.json").write_text(text)
    assert main(["probe", "--raw", str(tmp_path / "raw.json"), "-o", str(tmp_path / "network.json")]) == 2
    said = capsys.readouterr().err
    assert "is not what laconic.planner.probing writes" in said
    assert sentence in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["profile", "nothing.py"], "there is no task or script"),
        (["profile", "digits", "-n", "0"], "-n 0: give at least 1"),
        (["profile", "digits", "--ouput", "m.json"], "Did you mean '--output'"),
        (["probe", "-n", "0"], "-n 0: give at least 1"),
        (["probe", "-n", "2", "--hosts", "2"], "--hosts and -n were both given"),
        (["probe", "--raw", "raw.json", "--hosts", "2"], "--raw and --hosts were both given"),
        (
            ["probe", "--raw", "raw.json", "--rate", "1gbit"],
            "--rate says how emulated hosts are, but --raw raw.json was",
        ),
        (["probe", "--raw", "raw.json", "--delay", "1ms", "--loss", "1%"], "--delay says how emulated hosts are, but"),
        (["probe", "--raw", "raw.json", "--up", "0=1mbit"], "--up says"),
        (["probe", "--raw", "raw.json", "--down", "0=1mbit"], "--down says"),
        (["probe", "--raw", "raw.json", "--slow", "0=0.5"], "--slow says"),
        (["probe", "--raw", "raw.json", "--jitter", "1ms"], "--jitter says"),
        (["probe", "--raw", "raw.json", "--no-lab"], "--no-lab says"),
        (["plan", "--model", "nothing.json", "--network", "1gbit:1ms"], "is not a model.json"),
        (["plan", "--model", "resnet50", "--network", "nothing.json"], "is not a network.json"),
        (["probe", "--raw", "nothing.json", "-o", "/tmp/laconic-test-network.json"], "is not what"),
    ],
)
def test_what_cannot_be_read_is_refused(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert sentence in capsys.readouterr().err

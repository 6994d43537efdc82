"""The launcher: what it hands to torchrun, what every rank inherits, how a failure reads."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from torch.distributed import run as torchrun
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

from laconic.cli import main
from laconic.cli.machine import cores
from laconic.cli.run import environment, failure_text, parser, resolve
from laconic.core.errors import UsageError
from laconic.plan import check_text


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "train.py"
    path.write_text("")
    return str(path)


def resolved(*argv: str, env: Mapping[str, str] | None = None) -> argparse.Namespace:
    return resolve(parser().parse_args(argv), env or {})


def test_every_torchrun_option_is_accepted() -> None:
    theirs = {flag for a in torchrun.get_args_parser()._actions for flag in a.option_strings}
    assert theirs <= {flag for a in parser()._actions for flag in a.option_strings}


def test_torchrun_options_arrive_unchanged(script: str) -> None:
    args = resolved(
        "--nnodes=2", "--nproc-per-node=3", "--rdzv-backend=c10d", "--rdzv-endpoint=host:29400",
        "--max-restarts=2", script, "--lr", "0.1",
    )  # fmt: skip
    assert (args.nnodes, args.nproc_per_node, args.rdzv_endpoint) == ("2", "3", "host:29400")
    assert (args.max_restarts, args.standalone) == (2, False)
    assert (args.training_script, args.training_script_args) == (script, ["--lr", "0.1"])


def test_what_follows_the_script_is_the_scripts_own(script: str) -> None:
    args = resolved("--plan", "local(8)", script, "--plan", "mine", "--timeout", "1")
    assert args.plan == check_text("local(8)")
    assert args.training_script_args == ["--plan", "mine", "--timeout", "1"]


def test_one_machine_needs_no_port(script: str) -> None:
    assert resolved(script).standalone
    assert resolved("--nnodes", "1", script).standalone
    assert not resolved("--master-port", "29501", script).standalone


def test_servers_of_one_machine_are_not_started_for_ranks_on_several(script: str) -> None:
    with pytest.raises(UsageError, match="only this machine's ranks would find"):
        resolved("--servers", "1", "--nnodes", "2", "--rdzv-backend=c10d", "--rdzv-endpoint=host:29400", script)
    assert resolved("--servers", "1", "--master-port", "29501", script).servers == 1


def test_without_a_count_every_core_or_gpu_gets_a_process(script: str) -> None:
    assert int(resolved(script).nproc_per_node) == torchrun.determine_local_world_size("auto")


def test_n_is_short_for_nproc_per_node(script: str) -> None:
    assert resolved("-n", "3", script).nproc_per_node == "3"


def test_the_plan_reaches_every_rank_in_its_canonical_text(script: str) -> None:
    args = resolved("--plan", "ef( topk( 0.01 ) )", script)
    assert environment(args, {})["LACONIC_PLAN"] == check_text("ef(topk(0.01))")


@pytest.mark.parametrize("plan", ["ddp", "ddp+bf16", "ddp+fp16", "ddp+powersgd(4)"])
def test_the_baselines_are_plans_too(plan: str, script: str) -> None:
    assert resolved("--plan", plan, script).plan == plan


def test_no_plan_leaves_the_choice_to_the_script(script: str) -> None:
    assert "LACONIC_PLAN" not in environment(resolved(script), {})


def test_the_variable_is_the_plan_unless_the_option_is_given(script: str) -> None:
    env = {"LACONIC_PLAN": "local(8)"}
    assert resolved(script, env=env).plan == check_text("local(8)")
    assert resolved("--plan", "local(4)", script, env=env).plan == check_text("local(4)")


@pytest.mark.parametrize("env", [{}, {"LACONIC_PLAN": "topkk(0.01)"}])
def test_a_typo_in_the_plan_starts_no_process(
    env: dict[str, str],
    script: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(torchrun, "run", lambda args: pytest.fail("launched"))
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    own = [] if env else ["--plan", "topkk(0.01)"]
    assert main(["run", *own, script]) == 2
    error = capsys.readouterr().err
    assert "topkk" in error
    assert "topk" in error.replace("topkk", "")  # the near name
    assert "Traceback" not in error


def test_the_timeout_comes_from_the_option_then_the_variable_then_300_s(script: str) -> None:
    env = {"LACONIC_TIMEOUT": "20"}
    assert resolved(script).timeout == 300
    assert resolved(script, env=env).timeout == 20
    assert resolved("--timeout", "7.5", script, env=env).timeout == 7.5
    assert environment(resolved("--timeout", "7.5", script), {})["LACONIC_TIMEOUT"] == "7.5"


def test_machines_wait_for_each_other_no_longer_than_the_timeout(script: str) -> None:
    two = ("--nnodes", "2", "--timeout", "7.5")
    assert resolved(*two, script).rdzv_conf == "timeout=8"
    c10d = (*two, "--rdzv-backend", "c10d")
    assert resolved(*c10d, script).rdzv_conf == "join_timeout=8"
    user = resolved(*c10d, "--rdzv-conf", "join_timeout=99", script)
    assert user.rdzv_conf == "join_timeout=8,join_timeout=99"  # torchrun keeps the last


def test_debug_is_off_unless_asked_for(script: str) -> None:
    assert "LACONIC_DEBUG" not in environment(resolved(script), {})
    assert environment(resolved("--debug", script), {})["LACONIC_DEBUG"] == "1"


def test_processes_share_the_cores_unless_the_user_decided(script: str) -> None:
    args = resolved("-n", "2", script)
    assert environment(args, {})["OMP_NUM_THREADS"] == str(max(1, cores() // 2))
    assert environment(resolved("-n", "999", script), {})["OMP_NUM_THREADS"] == "1"
    assert "OMP_NUM_THREADS" not in environment(args, {"OMP_NUM_THREADS": "5"})


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["nowhere.py"], "there is no script 'nowhere.py'"),
        (["digits"], "is started by `-m laconic.tasks.digits`"),
        (["-n", "many", "-m", "x"], "cannot start 'many' processes"),
        (["-n", "0", "-m", "x"], "cannot start '0' processes"),
        (["--timeout", "-1", "-m", "x"], "the timeout is -1 s"),
        (["--timeout", "nan", "-m", "x"], "the timeout is nan s"),
        (["--plan", "auto", "--servers", "2", "-m", "x"], "would have nothing to do"),
        (["--plan", "auto", "--no-python", "./train.sh"], "as Python, which --no-python ./train.sh is not"),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *argv]) == 2
    assert words in capsys.readouterr().err


def test_a_bad_timeout_variable_is_named(
    script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LACONIC_TIMEOUT", "soon")
    assert main(["run", script]) == 2
    assert "LACONIC_TIMEOUT is 'soon'" in capsys.readouterr().err


def failure(local_rank: int, exitcode: int) -> ProcessFailure:
    return ProcessFailure(local_rank, pid=100 + local_rank, exitcode=exitcode, error_file="none")


def test_the_failure_names_the_rank_that_died_not_those_ended_after_it() -> None:
    term, kill = -signal.SIGTERM, -signal.SIGKILL
    error = ChildFailedError("x", {0: failure(0, term), 1: failure(1, kill), 2: failure(2, term)})
    assert failure_text(error) == "rank 1 (pid 101) was killed by SIGKILL; what it said stands above."


def test_the_failure_counts_the_others_that_failed_by_themselves() -> None:
    error = ChildFailedError("x", {0: failure(0, 3), 1: failure(1, 3)})
    text = failure_text(error)
    assert "rank 0 (pid 100) ended with exit code 3" in text
    assert text.endswith("Failed too: rank 1.")


def launch(*argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "laconic.cli", "run", *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def test_two_processes_really_start_with_the_plan_in_their_environment(tmp_path: Path) -> None:
    script = tmp_path / "say.py"
    script.write_text(
        "import json, os, sys; from pathlib import Path\n"
        "seen = [os.environ[k] for k in ('WORLD_SIZE', 'LACONIC_PLAN', 'LACONIC_TIMEOUT')]\n"
        "Path(sys.argv[1], os.environ['RANK']).write_text(json.dumps(seen))\n"
    )
    done = launch("-n", "2", "--plan", "local(8)", "--timeout", "30", str(script), str(tmp_path))
    assert done.returncode == 0, done.stderr
    for rank in "01":
        assert json.loads((tmp_path / rank).read_text()) == ["2", check_text("local(8)"), "30"]


def test_a_rank_that_fails_ends_the_run_with_its_name_and_no_launcher_traceback(
    tmp_path: Path,
) -> None:
    script = tmp_path / "fail.py"
    script.write_text(
        "import os, signal, sys\n"
        "if os.environ['RANK'] == '1': sys.exit('out of luck')\n"
        "signal.pause()\n"  # rank 0 would stay for ever
    )
    done = launch("-n", "2", str(script))
    assert done.returncode == 1
    assert "out of luck" in done.stderr
    assert "laconic run: rank 1 (pid" in done.stderr
    assert "Traceback" not in done.stderr


def test_with_hosts_there_is_one_rank_a_host_and_torchruns_own_options_are_refused(script: str) -> None:
    args = resolved("--hosts", "3", "--rate", "100mbit", script, "--rate", "x")
    assert (args.nproc_per_node, args.training_script_args) == ("1", ["--rate", "x"])
    assert environment(args, {})["OMP_NUM_THREADS"] == str(max(1, cores() // 3))
    assert resolved("--hosts", "3", "-n", "2", script).nproc_per_node == "2"
    with pytest.raises(UsageError, match="--max-restarts is torchrun's and has no meaning with --hosts"):
        resolved("--hosts", "3", "--max-restarts", "2", script)


def test_a_rate_without_hosts_is_refused(script: str) -> None:
    with pytest.raises(UsageError, match="say also how many: --hosts N"):
        resolved("--rate", "100mbit", script)


def test_the_plan_that_auto_chose_is_what_ranks_inherit(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("laconic.cli.run.os.environ", env := dict(os.environ))
    monkeypatch.setattr("laconic.cli.run.choose", lambda *_: "bf16")
    monkeypatch.setattr("laconic.cli.run._torchrun", lambda _: 0)
    assert main(["run", "-n", "2", "--plan", "auto", script]) == 0
    assert env["LACONIC_PLAN"] == "bf16"

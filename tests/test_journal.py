"""What a run leaves behind for `laconic compare`: steps timed on the optimizer, logs, nothing lost."""

from __future__ import annotations

import gc
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import laconic
from laconic import journal as journal_module
from laconic.core.errors import UsageError
from laconic.journal import Journal
from laconic.stats import Stats
from tests.processes import results


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class FakeReplica:
    """Only counts, at the prices of one step."""

    plan = "none"

    def __init__(self) -> None:
        self.stats = Stats(0, 0, 0, 0, 0.0, 0)
        self.hooks: list[Any] = []

    def keep(self, hook: Any) -> None:
        self.hooks.append(hook)

    def close(self) -> None:
        for hook in self.hooks:
            hook.remove()

    def spend(self, wait_s: float, wire: int, exchanges: int = 1) -> None:
        s = self.stats
        assert s.exposed_wait_s is not None
        self.stats = replace(
            s,
            exchanges=s.exchanges + exchanges,
            wire_bytes=s.wire_bytes + wire,
            dense_bytes=s.dense_bytes + 100,
            exposed_wait_s=s.exposed_wait_s + wait_s,
        )


def optimizer() -> torch.optim.Optimizer:
    parameter = torch.nn.Parameter(torch.zeros(1))
    parameter.grad = torch.zeros(1)
    return torch.optim.SGD([parameter], lr=0.1)


class Run:
    """A loop of fake steps under a clock that only moves when told."""

    def __init__(self, folder: Path, last_step: int | None = None) -> None:
        self.clock, self.replica, self.optimizer = Clock(), FakeReplica(), optimizer()
        self.journal = Journal(folder, rank=1, world=2, last_step=last_step, clock=self.clock)
        self.journal.attach(self.replica, self.optimizer)

    def step(self, seconds: float, wait_s: float = 0.0, wire: int = 0, exchanges: int = 1) -> None:
        self.clock.now += seconds
        self.replica.spend(wait_s, wire, exchanges)
        self.optimizer.step()

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.journal.path.read_text())
        return found


def test_intervals_last_from_step_to_step_and_the_first_step_has_none(tmp_path: Path):
    run = Run(tmp_path)
    run.step(50.0)  # unknown start: data loading, compiling
    run.step(2.0, wait_s=0.5, wire=10)
    run.step(3.0, wait_s=1.5, wire=30, exchanges=0)
    run.replica.close()
    kept = run.read()
    assert (kept["rank"], kept["world"], kept["plan"], kept["steps"], kept["exchanges"]) == (1, 2, "none", 3, 2)
    assert kept["step"] == [2, 3]
    assert kept["step_s"] == [2.0, 3.0]
    assert kept["wait_s"] == [0.5, 1.5]
    assert kept["wire_bytes_each"] == [10, 30]
    assert kept["exchanges_each"] == [1, 0]
    assert (kept["wire_bytes"], kept["dense_bytes"], kept["tx_bytes"], kept["tx_bytes_each"]) == (40, 300, None, None)


def test_an_interval_with_a_log_is_marked_and_does_not_count_as_training_time(tmp_path: Path):
    run = Run(tmp_path)
    for _ in range(3):
        run.step(2.0, wire=10)
    run.clock.now += 500  # an evaluation
    run.journal.log({"accuracy": 0.5})
    run.step(2.0, wire=10)
    run.journal.log({"accuracy": 0.75})
    kept = run.read()
    assert kept["step_s"] == [2.0, 2.0, 502.0]
    assert kept["logged_steps"] == [4]
    first, second = kept["logs"]
    assert first == {"step": 3, "seconds": 6.0, "wire_bytes": 30, "tx_bytes": None, "metrics": {"accuracy": 0.5}}
    assert (second["step"], second["seconds"], second["wire_bytes"]) == (4, 8.0, 40)


def test_what_was_logged_is_on_disk_at_once(tmp_path: Path):
    run = Run(tmp_path)
    run.step(1.0)
    run.journal.log({"loss": float("nan")})
    assert run.read()["logs"][0]["metrics"] == {"loss": None}


def test_an_unknown_wait_stays_unknown(tmp_path: Path):
    run = Run(tmp_path)
    run.replica.spend = lambda *_: None  # type: ignore[method-assign]
    run.replica.stats = replace(run.replica.stats, exposed_wait_s=None)
    run.step(1.0)
    run.step(1.0)
    run.journal.write()
    assert run.read()["wait_s"] is None


def test_two_replicas_are_one_run_whose_steps_are_the_first_ones(tmp_path: Path):
    run = Run(tmp_path)
    second, its_optimizer = FakeReplica(), optimizer()
    run.journal.attach(second, its_optimizer)
    for _ in range(3):
        second.spend(0.25, wire=5)
        its_optimizer.step()
        run.step(1.0, wait_s=0.5, wire=10)
    run.journal.write()
    kept = run.read()
    assert kept["steps"] == 3
    assert kept["wire_bytes_each"] == [15, 15]
    assert kept["wait_s"] == [0.75, 0.75]


def test_after_the_first_replica_is_closed_or_gone_the_next_one_leads(tmp_path: Path):
    run = Run(tmp_path)
    run.step(1.0, wire=10)
    run.step(1.0, wire=10)
    run.replica.close()
    run.replica, run.optimizer = FakeReplica(), optimizer()
    run.journal.attach(run.replica, run.optimizer)
    gc.collect()
    run.step(7.0, wire=1)
    run.step(2.0, wire=1)
    run.journal.write()
    kept = run.read()
    assert kept["steps"] == 4
    assert kept["step"] == [2, 4]  # nobody knows how long the third took
    assert kept["wire_bytes"] == 22


def test_a_journal_does_not_keep_a_replica_alive(tmp_path: Path):
    run = Run(tmp_path)
    run.step(1.0, wire=10)
    run.step(1.0, wire=10)
    del run.replica
    gc.collect()
    run.journal.write()
    assert run.read()["wire_bytes"] == 20


def test_after_the_last_step_asked_for_the_script_ends_well(tmp_path: Path):
    run = Run(tmp_path, last_step=2)
    run.step(1.0)
    with pytest.raises(SystemExit) as ended:
        run.step(1.0)
    assert ended.value.code == 0
    assert run.read()["steps"] == 2


def test_a_forked_process_does_not_write_in_the_journals_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run = Run(tmp_path)
    mine = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: mine + 1)
    run.journal.write()
    assert not run.journal.path.exists()


def test_a_full_disk_is_a_warning_and_the_training_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run = Run(tmp_path)

    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal_module, "write_whole", full)
    with pytest.warns(UserWarning, match="could not be written.*No space left"):
        run.journal.log({"loss": 1.0})


def test_a_folder_that_cannot_be_written_is_refused_at_once(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="LACONIC_JOURNAL"):
        Journal(tmp_path / "file")


def test_log_without_a_journal_does_nothing_and_takes_what_floats_take():
    assert Journal.current is None
    laconic.log(loss=torch.tensor(0.5), accuracy=1)


@pytest.mark.parametrize("bad", ["high", None, [1.0], torch.ones(2)])
def test_a_metric_that_is_no_number_is_refused(bad: Any):
    with pytest.raises(UsageError, match=r"laconic\.log\(accuracy="):
        laconic.log(accuracy=bad)


def test_logging_nothing_is_refused():
    with pytest.raises(UsageError, match="Name a metric"):
        laconic.log()


def test_a_plain_script_is_journalled_by_the_environment_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LACONIC_JOURNAL", str(tmp_path))
    monkeypatch.setenv("LACONIC_PLAN", "silent")
    train(0, 1)
    kept = json.loads((tmp_path / "rank0.json").read_text())
    assert (kept["plan"], kept["steps"], len(kept["step_s"])) == ("silent / allreduce / none / fused", 4, 3)
    assert [entry["metrics"] for entry in kept["logs"]] == [{"loss": 0.0}]
    monkeypatch.delenv("LACONIC_JOURNAL")
    laconic.init()
    assert Journal.current is None


def train(rank: int, world: int) -> None:
    """A user's loop, unchanged: no plan, no journal in sight."""
    laconic.init()
    model = torch.nn.Linear(64, 64)
    steps = torch.optim.SGD(model.parameters(), lr=0.0)
    replica = laconic.distribute(model, steps)
    for _ in range(4):
        model(torch.zeros(2, 64)).sum().backward()
        steps.step()
        steps.zero_grad()
    laconic.log(loss=0.0)
    replica.close()


@pytest.mark.parametrize("plan", ["none", "ddp"])
def test_plans_and_baselines_on_two_processes_leave_a_journal_a_rank(tmp_path: Path, plan: str):
    env = {"LACONIC_JOURNAL": str(tmp_path), "LACONIC_PLAN": plan, "LACONIC_INTERFACE": "lo"}
    results(2, train, env=env)
    for rank in range(2):
        kept = json.loads((tmp_path / f"rank{rank}.json").read_text())
        assert (kept["rank"], kept["world"], kept["steps"], kept["exchanges"]) == (rank, 2, 4, 4)
        assert all(sent >= 64 * 65 * 4 for sent in kept["wire_bytes_each"])  # n = 2: a ring sends S once
        assert sum(kept["tx_bytes_each"]) >= sum(kept["wire_bytes_each"])  # loopback is also the other rank's
        assert (kept["wait_s"] is None) == (plan == "ddp")

"""`laconic serve`, `laconic keygen` and `laconic run --servers`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from laconic.cli import main, serve
from laconic.cli.servers import check_count, job_key
from laconic.core.errors import UsageError
from laconic.net.auth import Keys, read_keys, write_keys

TRAIN = """
import torch, laconic
session = laconic.init()
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
replica = laconic.distribute(model, optimizer)
for _ in range(3):
    model(torch.ones(3, 4) * (1 + session.rank)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"rank {session.rank} ended with servers {len(session.servers)} plan {replica.plan.topology}", flush=True)
"""


def test_keygen_writes_a_key_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "job.key"
    assert main(["keygen", str(path)]) == 0
    assert read_keys(path).public
    assert "wrote" in capsys.readouterr().out
    assert main(["keygen", str(path)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_serve_refuses_plain_text_beyond_this_machine(capsys: pytest.CaptureFixture[str]):
    assert main(["serve", "--host", "0.0.0.0"]) == 2
    assert "--insecure" in capsys.readouterr().err


def test_a_key_and_insecure_contradict_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "job.key"
    main(["keygen", str(path)])
    assert main(["serve", "--key", str(path), "--insecure"]) == 2
    assert "--insecure means no key" in capsys.readouterr().err
    with pytest.raises(UsageError, match="--insecure means no key"):
        job_key(path, {}, insecure=True)


def test_serve_takes_its_key_from_where_workers_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, keys = tmp_path / "job.key", Keys.make()
    write_keys(path, keys)
    monkeypatch.setenv("LACONIC_KEY_FILE", str(path))
    assert serve._keys(None, insecure=False) == keys
    assert serve._keys(None, insecure=True) is None


@pytest.mark.parametrize(
    ("servers", "plan", "sentence"),
    [
        (0, "ps", "at least one"),
        (2, "ps(servers=4)", "does not fit"),
        (2, "ps(colocated)", "does not fit"),
        (2, "none", "uses no servers"),
        (2, "ddp", "uses no servers"),
    ],
)
def test_a_number_of_servers_that_does_not_fit_is_refused_at_once(servers: int, plan: str, sentence: str):
    with pytest.raises(UsageError, match=sentence):
        check_count(servers, plan)


def test_a_fitting_number_is_accepted():
    check_count(None, "none")
    check_count(2, "ps(servers=2)")
    check_count(3, "ps(tree)")
    check_count(2, None)


def test_a_run_has_a_key_unless_somebody_decided_otherwise(tmp_path: Path):
    assert Keys.from_text(job_key(None, {}, insecure=False)["LACONIC_KEY"])
    assert job_key(None, {"LACONIC_SERVERS": "tcp://127.0.0.1:1"}, insecure=False) == {}
    plain = {"LACONIC_INSECURE": "1", "LACONIC_KEY": "", "LACONIC_KEY_FILE": ""}
    assert job_key(None, {"LACONIC_KEY": Keys.make().text()}, insecure=True) == plain
    main(["keygen", str(tmp_path / "k")])
    assert job_key(tmp_path / "k", {}, insecure=False) == {"LACONIC_KEY": read_keys(tmp_path / "k").text()}


def test_run_trains_with_server_processes(tmp_path: Path):
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    command = [sys.executable, "-m", "laconic.cli", "run", "-n", "2", "--servers", "1", "--plan", "ps(servers=1)"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([*command, str(script)], env=env, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    for rank in (0, 1):
        assert f"rank {rank} ended with servers 1 plan ps(servers=1)" in done.stdout
    assert "served 1 groups; dropped frames: none" in done.stderr
    assert torch.cuda.is_available() or "Error" not in done.stderr

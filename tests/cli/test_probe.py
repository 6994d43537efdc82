"""`laconic probe` and `laconic profile` with real processes, once each."""

from __future__ import annotations

from pathlib import Path

import pytest

from laconic.cli import main
from laconic.planner.network_file import read_network
from laconic.sim.model import read_model

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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["profile", "nothing.py"], "there is no task or script"),
        (["profile", "digits", "-n", "0"], "-n 0: give at least 1"),
        (["probe", "-n", "0"], "-n 0: give at least 1"),
        (["probe", "-n", "2", "--hosts", "2"], "--hosts and -n were both given"),
        (["probe", "--raw", "raw.json", "--hosts", "2"], "--raw and --hosts were both given"),
        (["plan", "--model", "nothing.json", "--network", "1gbit:1ms"], "is not a model.json"),
        (["plan", "--model", "resnet50", "--network", "nothing.json"], "is not a network.json"),
        (["probe", "--raw", "nothing.json", "-o", "/tmp/laconic-test-network.json"], "is not what"),
    ],
)
def test_what_cannot_be_read_is_refused(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert sentence in capsys.readouterr().err

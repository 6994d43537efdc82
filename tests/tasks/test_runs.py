"""The tasks run from the first line to the JSON line: alone in this process, and on two real ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from laconic.tasks import bytes as bytes_task
from laconic.tasks import digits, fashion
from laconic.tasks.examples import DataError
from laconic.tasks.start import start
from tests.processes import results
from tests.tasks.test_fashion_mnist import write

KEYS = {
    "task",
    "plan",
    "world",
    "steps",
    "batch",
    "seed",
    "lr",
    "model",
    "parameters",
    "metrics",
    "history",
    "wire_bytes_per_step",
    "dense_bytes_per_step",
    "tx_bytes_per_step",
    "step_s_median",
    "step_s",
    "exposed_wait_s_per_step",
    "skipped_steps",
    "staleness",
    "dropped_updates",
    "decisions",
}


def read(out: Path) -> dict[str, Any]:
    (line,) = out.read_text().splitlines()
    record: dict[str, Any] = json.loads(line)
    return record


def test_digits_alone_writes_one_line_with_every_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("sklearn")
    out = tmp_path / "out.json"
    digits.main(["--steps", "6", "--eval-every", "4", "--json", str(out)])
    record = read(out)
    assert record.keys() == KEYS
    assert (record["task"], record["world"], record["steps"], record["batch"]) == ("digits", 1, 6, 16)
    assert [entry["step"] for entry in record["history"]] == [4, 6]
    assert record["history"][-1].items() >= record["metrics"].items()
    assert record["metrics"].keys() == {"accuracy", "loss"}
    assert record["wire_bytes_per_step"] == 0  # alone
    shown = capsys.readouterr()
    assert "digits  step 4/6  accuracy" in shown.err
    assert shown.out.startswith("digits (cnn, ")


def two_workers(rank: int, world: int, out: str, plan: str, *more: str) -> dict[str, Any]:
    args = ["--layers", "1", "--width", "16", "--heads", "2", "--context", "16", "--eval-windows", "5"]
    return bytes_task.main([*args, "--steps", "4", "--batch", "2", "--json", out, "--plan", plan, *more])


@pytest.mark.parametrize(("plan", "meet"), [("local(2)", True), ("asp", False), ("ssp(2)", False)])
def test_who_waits_for_nobody_is_not_made_to_by_an_evaluation(tmp_path: Path, plan: str, meet: bool):
    both = results(2, two_workers, str(tmp_path / "out.json"), plan, "--eval-every", "2")
    first, second = ([entry["step"] for entry in record["history"]] for record in both)
    assert first == [2, 4]
    assert second == ([2, 4] if meet else [4])


@pytest.mark.parametrize("plan", ["ddp", "none", "local(2)", "ef(topk(0.01))"])
def test_bytes_on_two_processes_agrees_on_its_metrics(tmp_path: Path, plan: str):
    out = tmp_path / "out.json"
    first, second = results(2, two_workers, str(out), plan)
    record = read(out)
    assert record["world"] == 2
    assert first["metrics"] == second["metrics"] == record["metrics"]
    assert record["metrics"]["bits_per_byte"] == pytest.approx(record["metrics"]["loss"] / 0.6931471805599453)
    assert 0 < record["wire_bytes_per_step"] <= record["dense_bytes_per_step"] * 1.1
    assert record["model"] == "gpt layers=1 width=16 heads=2 context=16"


def test_same_seed_same_result_and_another_seed_another(tmp_path: Path):
    pytest.importorskip("sklearn")
    a, b, c = (digits.main(["--steps", "3", "--eval-every", "0", "--seed", seed]) for seed in ("1", "1", "2"))
    assert a["metrics"] == b["metrics"] != c["metrics"]


def test_fashion_runs_on_files_of_ones_own(tmp_path: Path):
    write(tmp_path, "train", images=8, labels=8)
    write(tmp_path, "t10k")
    record = fashion.main(["--data", str(tmp_path), "--steps", "2", "--batch", "4", "--eval-images", "2"])
    assert record["model"] == "cnn"
    assert record["parameters"] == 321_546


def test_usual_batch_and_learning_rate_of_fashion_depend_on_the_model(capsys: pytest.CaptureFixture[str]):
    cnn, resnet = fashion.arguments([]), fashion.arguments(["--model", "resnet18"])
    assert (cnn.lr, cnn.batch) == (0.2, 32)
    assert (resnet.lr, resnet.batch) == (0.05, 8)
    assert fashion.arguments(["--model=resnet18", "--lr", "1"]).lr == 1
    with pytest.raises(SystemExit):
        fashion.arguments(["--model", "vgg"])
    assert "invalid choice: 'vgg'" in capsys.readouterr().err


def test_without_scikit_learn_digits_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(DataError, match=r"pip install 'laconic\[demo\]'"):
        digits.load()


def test_a_context_longer_than_the_held_out_text_is_refused():
    with pytest.raises(DataError, match="shorter --context"):
        bytes_task.windows(context=10**9, eval_windows=1)


def test_a_foreseen_error_ends_with_its_sentence(tmp_path: Path):
    with pytest.raises(SystemExit, match=r"DataError: Fashion-MNIST: .* has no train-images"):
        start(lambda: fashion.main(["--data", str(tmp_path)]))


@pytest.mark.parametrize("bad", [["--steps", "0"], ["--batch", "-1"], ["--seed", "-1"], ["--steps", "many"]])
def test_impossible_numbers_are_refused(bad: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        digits.main(bad)
    assert bad[0] in capsys.readouterr().err

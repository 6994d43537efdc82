"""model.json: what survives it and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from laconic.core.errors import UsageError
from laconic.plan import Plan
from laconic.sim.exchanges import Setting
from laconic.sim.model import read_model, table
from laconic.sim.network import Line, Network
from laconic.sim.step import simulate

MODEL = table("tiny", [("a", (4, 3)), ("b", ())], [0.01] * 2, batch=4, update_s=0.5)


def test_a_model_survives_its_file(tmp_path: Path) -> None:
    MODEL.write(tmp_path / "model.json")
    assert read_model(tmp_path / "model.json") == MODEL


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"forward_s": "fast"}, "forward_s of a is 'fast'"),
        ({"backward_s": -1.0}, "backward_s of a is -1.0"),
        ({"backward_s": float("nan")}, "backward_s of a is nan"),
        ({"shape": "4x3"}, "the shape of a is '4x3'"),
        ({"shape": [4, "3"]}, "the shape of a is '3'"),
        ({"ready": None}, "ready of a is None"),
        ({"dtype": "decimal"}, "the dtype of a is 'decimal', which is none of float32, float64"),
        ({"dtype": "int64"}, "the dtype of a is 'int64'"),
        ({"dtype": "float8_e4m3fn"}, "the dtype of a is 'float8_e4m3fn'"),
        ({"shape": [10_000_000] * 3}, "the shape of a has 1e+21 elements"),
        ({"shape": [10**400]}, "the shape of a is 1000"),
        ({"shape": [-4, 3]}, "the shape of a is -4"),
        ({"forward_s": 10**400}, "forward_s of a is 1000"),
        ({"name": "b"}, "b is there twice"),
    ],
)
def test_a_damaged_parameter_is_refused_in_a_sentence(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    data = json.loads(MODEL.to_json())
    data["parameters"][0] |= change
    _refused(data, sentence, tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"update_s": None}, "update_s is None"),
        ({"batch": 0.5}, "batch is 0.5"),
        ({"parameters": []}, "it has no parameters"),
        ({"parameters": [3]}, "a parameter is int, not an object"),
        ({"parameters": {}}, "parameters is {}, which is not a list"),
    ],
)
def test_a_damaged_model_is_refused_in_a_sentence(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    _refused({**json.loads(MODEL.to_json()), **change}, sentence, tmp_path)


def test_a_parameter_without_elements_is_no_damage(tmp_path: Path) -> None:
    empty = table("tiny", [("a", (4, 3)), ("b", (0, 3))], [0.01] * 2, batch=4)
    empty.write(tmp_path / "model.json")
    setting = Setting(read_model(tmp_path / "model.json"), Network(Line(1e-4, 1e-8)), 4)
    assert simulate(Plan.parse("ef(topk(0.01))"), setting).seconds > 0


def test_a_model_that_computes_nothing_is_refused(tmp_path: Path) -> None:
    data = json.loads(MODEL.to_json())
    for row in data["parameters"]:
        row |= {"forward_s": 0, "backward_s": 0.0}
    _refused(data, "take no time at all", tmp_path)
    _refused([1, 2], "what it holds is list", tmp_path)
    _refused({}, "'parameters' is missing", tmp_path)


def _refused(data: Any, sentence: str, folder: Path) -> None:
    (folder / "model.json").write_text(json.dumps(data))
    with pytest.raises(UsageError) as refused:
        read_model(folder / "model.json")
    assert str(refused.value).startswith(f"{folder / 'model.json'} is not a model.json")
    assert sentence in str(refused.value)

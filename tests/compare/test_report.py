from __future__ import annotations

import json
import math

from laconic.compare.measured import Point
from laconic.compare.report import as_json
from tests.compare.made import comparison, run

PROMISED = {"task", "hosts", "rate", "steps", "repeat", "rows"}
PROMISED_OF_A_ROW = {
    "plan",
    "baseline",
    "step_s",
    "ratio_to_ddp",
    "ratio_to_best_baseline",
    "tx_bytes_per_step",
    "compute_s",
    "exposed_s",
    "metrics",
}


def test_every_promised_key_is_there():
    made = comparison({"ddp": [run(2.0, tx=9.0, accuracy=0.5)], "bf16": [run(1.0, wait_s=0.25, tx=7.0, accuracy=0.25)]})
    found = json.loads(as_json(made))
    assert found.keys() >= PROMISED
    assert (found["task"], found["hosts"], found["rate"], found["steps"], found["repeat"]) == (
        "digits",
        4,
        "100mbit",
        10,
        3,
    )
    ddp, plan = found["rows"]
    assert ddp.keys() >= PROMISED_OF_A_ROW
    assert (ddp["plan"], ddp["baseline"], plan["plan"], plan["baseline"]) == ("ddp", True, "bf16", False)
    assert plan["step_s"] == {"median": 1.0, "min": 1.0, "max": 1.0}
    assert (plan["ratio_to_ddp"], plan["tx_bytes_per_step"]) == (2.0, 7.0)
    assert (plan["exposed_s"], plan["compute_s"], plan["exposed_by"]) == (0.25, 0.75, "measured")
    assert plan["metrics"] == {"accuracy": 0.25}


def test_nothing_is_nan():
    broken = run(points=(Point(1, math.nan, 1.0, None, {"loss": math.inf}),))
    text = as_json(comparison({"ddp": [broken], "bf16": "boom"}))
    assert "NaN" not in text
    assert "Infinity" not in text
    row = json.loads(text)["rows"][1]
    assert (row["failed"], row["error"], row["step_s"], row["metrics"]) == (True, "boom", None, {})

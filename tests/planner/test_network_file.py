"""network.json: what survives it, what is refused, and what is said about it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from laconic.core.errors import UsageError
from laconic.planner.network_file import cpu_line, fit_line, from_dict, read_network, slow_pairs
from laconic.sim.collective import Curve
from laconic.sim.machine import Coding
from tests.planner.networks import curve, network


def test_a_line_is_fitted_to_what_was_measured() -> None:
    line = fit_line(curve(3e-4, 2e-8, 5), 5)
    assert (line.alpha_s, line.beta_s) == (pytest.approx(3e-4), pytest.approx(2e-8))


def test_a_rank_has_what_was_measured_of_a_core() -> None:
    three = replace(network(3), share=0.6)
    assert three.machine(3).cores == pytest.approx(0.6)
    assert three.machine(3).crowded
    assert three.machine(2).cores == 1.0  # not measured among so many
    assert not three.machine(2).crowded
    assert replace(network(4), share=0.52).machine(4).cores == 0.5  # nobody has more than an equal part for long


def test_messages_cost_a_core_what_the_shortest_calls_say() -> None:
    gather = Curve((1e3, 1e6), (9e-5, 1e-3))  # three messages
    byte, message = cpu_line({"reduce": curve(1e-5, 1e-9, 4), "gather": gather}, 4)
    assert byte == pytest.approx(1e-9)
    assert message == pytest.approx((1e-5 + 1.5e3 * 1e-9 / 6 + 3e-5) / 2)
    assert cpu_line({}, 4) == (0.0, 0.0)


def test_a_network_survives_its_file_and_ranks_share_its_cores() -> None:
    table_ = replace(network(), codings={"bf16": Coding(1e-9, 2e-9)}, pairs=(((0.0, 1.0),),))
    assert from_dict(json.loads(table_.to_json())) == table_
    assert table_.machine(4).cores == 0.5
    assert table_.machine(2).cores == 1.0
    assert table_.machine(64).cores == 0.5  # as many on a machine as were measured


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"curves": None}, "curves is NoneType, not an object"),
        ({"machines": 0}, "machines is 0"),
        ({"world": "four"}, "world is 'four'"),
        ({"curves": {"reduce": {"sizes": [], "seconds": []}}}, "seconds at rising sizes"),
        ({"curves": {"reduce": {"sizes": [8, 8], "seconds": [1, 1]}}}, "seconds at rising sizes"),
        ({"curves": {"reduce": {"sizes": [8]}}}, "'seconds' is missing"),
        ({"curves": {"gather": {"sizes": [8], "seconds": [1]}}}, "'reduce' is missing in curves"),
        ({"cpu": {"gather": {"sizes": [8], "seconds": [1]}}}, "'reduce' is missing in cpu"),
        ({"curves": {"reduce": {"sizes": [8], "seconds": [-1]}}}, "curves.reduce.seconds is -1"),
        ({"curves": {"reduce": {"sizes": [8], "seconds": [float("nan")]}}}, "curves.reduce.seconds is nan"),
        ({"world": 10**400}, "world is 1000"),
        ({"share": 1e-320}, "too little of a core"),
        ({"step_s": 10**400}, "step_s is 1000"),
        ({"touch_s": float("nan")}, "touch_s is nan"),
        ({"line": {"alpha_s": -1, "beta_s": 0}}, "line.alpha_s is -1"),
        ({"pairs": [[1.0]]}, "pairs is 1.0"),
        ({"codings": {"bf16": {"encode_s": "fast"}}}, "codings.bf16.encode_s is 'fast'"),
        ({"colour": "red"}, "'colour' has no meaning"),
    ],
)
def test_a_damaged_file_is_refused_in_a_sentence(change: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "network.json"
    path.write_text(json.dumps({**json.loads(network().to_json()), **change}))
    with pytest.raises(UsageError, match=r"is not a network.json") as refused:
        read_network(path)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("text", ["[1, 2]", "7", "{}", "nothing"])
def test_what_is_no_table_at_all_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text(text)
    with pytest.raises(UsageError, match=r"is not a network.json"):
        read_network(tmp_path / "n.json")


def test_a_pair_of_ranks_much_slower_than_most_is_named() -> None:
    rates = [[0.0, 10e6, 11e6], [10e6, 0.0, 2e6], [9e6, 10e6, 0.0]]
    pairs = tuple(tuple((1e-4, rate) for rate in row) for row in rates)
    (said,) = slow_pairs(replace(network(3), pairs=pairs))
    assert said.startswith("From rank 1 to rank 2 a byte takes 5.0 times as long")
    assert slow_pairs(network(3)) == []


def test_ranks_that_share_a_core_are_not_a_slow_link() -> None:
    usual, slow = (1e-4, 2e9), (1e-4, 1.3e8)  # 1.9 ms more for a message: a turn on the core
    rows = [[usual] * 4 for _ in range(4)]
    rows[0][2] = rows[2][0] = slow
    pairs = tuple(map(tuple, rows))
    assert slow_pairs(replace(network(4), pairs=pairs)) == []
    assert len(slow_pairs(replace(network(4), pairs=pairs, machines=4))) == 2

from __future__ import annotations

from itertools import pairwise, permutations

import pytest

from laconic.compare.order import evaluate_every, turns
from laconic.compare.rows import BASELINES, DEFAULT_PLANS, Kind, choose, names_a_baseline, period, read, split
from laconic.core.errors import PlanError, UsageError


def test_baselines_come_first_then_plans_and_the_floor_is_last():
    rows = choose(["local(8)", "bf16"])
    assert [row.text for row in rows] == [*BASELINES, "local(8)", "bf16", "silent"]
    assert [row.kind for row in rows] == [Kind.BASELINE] * 4 + [Kind.PLAN] * 2 + [Kind.FLOOR]


def test_ddp_and_the_floor_cannot_be_left_out():
    assert [row.text for row in choose([], ["ddp+fp16"])] == ["ddp", "ddp+fp16", "silent"]


def test_a_plan_named_twice_in_other_words_runs_once():
    assert [row.text for row in choose(["bf16", "bsp / bf16", "ddp", "silent / fused"], [])] == [
        "ddp",
        "bf16",
        "silent / fused",
    ]


def test_a_plan_that_cannot_be_read_is_refused():
    with pytest.raises(PlanError, match="unknown name 'topkk'"):
        choose(["topkk(0.1)"])


def test_the_default_plans_are_plans():
    assert all(read(text).kind is Kind.PLAN for text in DEFAULT_PLANS)


def test_plans_are_split_at_semicolons_and_lines_and_remarks_go():
    assert split(" bf16 ;local(8) / bf16;\n# nothing\nef(topk(0.01)) # good\n\n") == [
        "bf16",
        "local(8) / bf16",
        "ef(topk(0.01))",
    ]
    with pytest.raises(UsageError, match="names no plan"):
        split(" ; ")


def test_a_plan_among_the_baselines_is_refused():
    names_a_baseline(["ddp", "ddp+fp16"])
    with pytest.raises(UsageError, match="--plans"):
        names_a_baseline(["bf16"])


def test_repetitions_are_interleaved_start_one_row_later_each_and_turn_round():
    rows = choose(["bf16"], [])  # ddp, bf16, silent
    order = turns(rows, 3)
    assert [turn.number for turn in order] == list(range(1, 10))
    names = [[turn.row.text for turn in order if turn.repetition == r] for r in range(3)]
    assert names == [["ddp", "bf16", "silent"], ["bf16", "ddp", "silent"], ["silent", "ddp", "bf16"]]
    before = [(a.row.text, b.row.text) for a, b in pairwise(turns(rows, 6)) if a.repetition == b.repetition]
    assert sorted(before) == sorted(2 * list(permutations(("ddp", "bf16", "silent"), 2)))


def test_the_period_is_the_distance_between_two_talks():
    assert [period(read(text)) for text in ("ddp", "none", "local(8)", "silent")] == [1, 1, 8, 1]


def test_evaluations_fall_on_steps_where_every_row_has_just_talked():
    assert evaluate_every(200, choose(["bf16"], [])) == 10
    assert evaluate_every(200, choose(["local(8)"], [])) == 16
    assert evaluate_every(200, choose(["local(8)", "local(3)"], [])) == 24
    assert evaluate_every(40, choose(["local(32)"], [])) == 2  # it would leave too few
    assert evaluate_every(3, choose([], [])) == 1

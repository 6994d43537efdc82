"""Presets are plans by name."""

from __future__ import annotations

import json

import pytest

from laconic.cli.list import main as list_main
from laconic.compare.rows import choose
from laconic.core.errors import PlanError
from laconic.plan import Plan
from laconic.presets import GROUPS, PRESETS, SEVEN

ISSUE = [
    "bsp-ps",
    "bsp-a2a",
    "wfbp-ps",
    "wfbp-a2a",
    "mg-wfbp",
    "bytescheduler-ps",
    "bytescheduler-a2a",
    "poseidon",
    "p3",
    "tictac",
    "horovod",
    "byteps",
    "downpour",
    "ssp",
    "dgc",
    "1bit-sgd",
    "qsgd",
    "terngrad",
    "ef-signsgd",
    "signsgd-vote",
    "powersgd",
    "gtopk",
    "ok-topk",
    "redsync",
    "sidco",
    "cgx-4bit",
    "bagua-bytegrad",
    "hipress",
    "omnireduce",
    "local-sgd",
    "post-local",
    "slowmo",
    "bmuf",
    "diloco",
    "sparseloco",
    "d-psgd",
    "sgp",
    "ad-psgd",
    "choco",
    "powergossip",
]


def test_every_named_system_has_a_preset():
    assert set(ISSUE) <= set(PRESETS)
    assert all(p.follows for p in PRESETS.values())


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_plan(name: str):
    plan = Plan.parse(f" preset:{name} ")
    assert plan == Plan.parse(PRESETS[name].plan)
    assert Plan.parse(str(plan)) == plan


def test_a_preset_that_does_not_exist_is_refused_with_the_near_ones():
    with pytest.raises(PlanError, match=r"no preset 'dcg'.*dgc"):
        Plan.parse("preset:dcg")
    with pytest.raises(PlanError, match=r"stands alone. Change its text: 'local\(8\) / bf16'"):
        Plan.parse("preset:local-sgd / bf16")


def test_a_group_stands_for_its_members_in_a_comparison():
    plans = [row.text for row in choose(["preset:seven", "bf16"])]
    assert [p for p in plans if p.startswith("preset:")] == [f"preset:{name}" for name in SEVEN]
    with pytest.raises(PlanError, match="7 plans"):
        Plan.parse("preset:seven")
    assert set(GROUPS["seven"]) <= set(PRESETS)


def test_the_seven_are_seven_different_plans():
    assert len({str(Plan.parse(f"preset:{name}")) for name in SEVEN}) == len(SEVEN)


def test_they_are_listed(capsys: pytest.CaptureFixture[str]):
    assert list_main(["--presets"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in PRESETS)
    assert max(map(len, text.splitlines())) <= 100
    list_main(["--presets", "--json"])
    assert {row["name"] for row in json.loads(capsys.readouterr().out)} == set(PRESETS)

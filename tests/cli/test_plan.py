"""`laconic plan` as users call it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from laconic.cli import main
from laconic.planner.risk import Risk
from laconic.sim.changing import ADAPTS
from laconic.sim.model import table
from laconic.sim.network import Line
from tests.planner.networks import network


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    path = tmp_path / "model.json"
    table("tiny", [("a", (400, 300)), ("b", (300,)), ("c", (300, 100))], [0.01] * 3, batch=4).write(path)
    return ["plan", "--model", str(path), "--network", "10mbit:1ms"]


def ranked(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main([*words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)[0]
    return found


def test_a_ranking_with_reasons(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = [*words, "--lossy", "--top", "3"]
    assert main([*words, "--why"]) == 0
    out = capsys.readouterr().out
    assert "limited by" in out
    assert "times as fast as DDP" in out
    found = ranked(words, capsys)
    assert found["workers"] == 4
    assert found["plans"][0]["x_ddp"] > 1
    assert {"one worker alone", "ddp"} < {row["plan"] for row in found["plans"]}
    everything = ranked([*words[:-1], "1000"], capsys)["plans"]
    assert found["plans"][:3] == everything[:3]
    fastest = {row["risk"]: row["plan"] for row in reversed(everything) if row["distributed"]}
    assert set(fastest) == {risk.value for risk in Risk}
    shown = {row["plan"] for row in found["plans"][3:]}
    assert shown == {"one worker alone", "ddp", *fastest.values()} - {row["plan"] for row in everything[:3]}
    assert [row["speedup"] for row in found["plans"] if not row["distributed"]] == [1.0]


def test_what_is_named_is_always_shown(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = [*words, "--top", "1", "--also", "wfbp", "--also", "asp / ps", "--also", "silent", "--also", "ddp"]
    found = ranked(words, capsys)
    risks = {row["plan"]: row["risk"] for row in found["plans"]}
    assert (risks["wfbp"], risks["asp / ps"]) == ("lossless", "stale")
    assert [left["text"] for left in found["left_out"]] == ["silent"]
    assert main(words) == 0
    assert "left out: it never talks" in capsys.readouterr().out


def test_servers_with_hosts_of_their_own_say_how_many(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = [*words, "--top", "1", "--also", "ps", "--also", "ps(servers=2)", "--also", "ps(colocated)"]
    found = {row["plan"]: row["more_hosts"] for row in ranked(words, capsys)["plans"]}
    assert [found[text] for text in ("ps", "ps(servers=2)", "ps(colocated)", "ddp")] == [1, 2, 0, 0]
    assert {row["more_hosts"] for row in ranked([*words, "--workers", "1"], capsys)["plans"]} == {0}
    assert main(words) == 0
    lines = {line.split("  ")[0]: line for line in capsys.readouterr().out.splitlines()}
    assert lines["ps"].endswith("line; 1 more host")
    assert lines["ps(servers=2)"].endswith("line; 2 more hosts")
    assert lines["ps(colocated)"].endswith("line")


def test_what_predictions_rest_on_is_told_where_reasons_are(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*words, "--top", "1", "--also", "ef(paced(topk(0.1)))", "--also", "ef(topk(0.1))", "--also", "bf16"]
    how = {row["plan"]: row["how"] for row in ranked(words, capsys)["plans"]}
    assert ADAPTS in how["ef(paced(topk(0.1)))"]
    assert ADAPTS not in how["ef(topk(0.1))"]
    assert main([*words, "--why"]) == 0
    out = capsys.readouterr().out
    assert f"  ef(paced(topk(0.1))): {ADAPTS}.\n" in out
    assert "10mbit:1ms is a link, not a machine" in out
    assert "Nobody measured how fast" in out
    assert not [line for line in out.splitlines() if line.startswith(("  ef(topk(0.1)): ", "  bf16: ", "  ddp: "))]


def test_one_worker_has_a_table_too(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--workers", "1", "--why"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("1 worker\n")
    assert "nobody to talk to" in out
    assert "Do not distribute" not in out


def test_a_rank_that_was_probed_alone_says_nothing_about_more(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replace(network(1), curves={}, cpu={}, line=Line(0.0, 0.0)).write(tmp_path / "network.json")
    words[words.index("--network") + 1] = str(tmp_path / "network.json")
    assert main([*words, "--workers", "1,32"]) == 2
    said = capsys.readouterr()
    assert "network.json was probed with one rank, which talks to nobody: it says nothing about 32 workers" in said.err
    assert not said.out
    assert main([*words, "--workers", "1"]) == 0


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--also", "topkk(0.01)"], "unknown name 'topkk'"),
        (["--also", ""], "the text is empty"),
        (["--also", "auto"], "auto is no plan but a search for one"),
        (["--workers", "0"], "--workers 0: write numbers from 1"),
        (["--top", "0"], "--top 0: give at least 1"),
    ],
)
def test_what_cannot_be_ranked_is_refused(
    more: list[str], sentence: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, *more]) == 2
    assert sentence in capsys.readouterr().err

"""The catalogue as people and programs read it."""

from __future__ import annotations

import json

import pytest

from laconic.catalogue import catalogue
from laconic.cli import main
from laconic.cli.list import QUESTIONS, as_table, trait_texts
from laconic.measured_speed import paces

KEYS = {"name", "folder", "summary", "paper", "traits", "speed"}


def listed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["list", *argv]) == 0
    return capsys.readouterr().out


def test_json_has_the_promised_keys_for_every_algorithm(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = json.loads(listed(capsys, "--json"))
    assert len(rows) == len(catalogue())
    assert all(set(row) >= KEYS and isinstance(row["traits"], dict) for row in rows)
    assert {row["folder"] for row in rows} <= set(QUESTIONS)


def test_every_name_is_there_once(capsys: pytest.CaptureFixture[str]) -> None:
    names = [row["name"] for row in json.loads(listed(capsys, "--json"))]
    assert len(set(names)) == len(names)
    assert {"bsp", "local", "allreduce", "topk", "qsgd", "powersgd", "ef"} <= set(names)


def test_every_algorithm_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert all(row["summary"].strip() for row in json.loads(listed(capsys, "--json")))


def test_the_table_fits_100_columns_and_holds_every_example(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = listed(capsys)
    assert max(map(len, text.splitlines())) <= 100
    assert all(entry.usage in text for entry in catalogue())


def test_an_empty_catalogue_prints_nothing() -> None:
    assert as_table([]) == ""


def test_traits_read_as_words() -> None:
    traits = {
        "unbiased": True,
        "fixed_size": False,
        "delta": 0.01,
        "grain": "tensor",
        "omega": None,
    }
    assert trait_texts(traits) == ["unbiased", "not fixed size", "delta = 0.01", "grain = tensor"]


def test_what_is_slower_than_sending_raw_bytes_at_1_gbit_is_flagged(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["usage"]: row["speed"] for row in json.loads(listed(capsys, "--json")) if row["folder"] == "compress"}
    slow = {usage for usage, speed in rows.items() if speed and speed["slow"]}
    assert all(rows[usage]["gbit_s"] < 1 for usage in slow)
    assert listed(capsys).count("SLOW") == len(slow)
    assert not {"qsgd(4)", "topk(0.01)", "sign", "powersgd(4)"} & slow


def test_every_compressor_was_measured() -> None:
    usages = {e.usage for e in catalogue() if e.folder == "compress" and e.name != "none"}
    assert usages <= set(paces()), "run: laconic bench kernels --json --sizes 1e6 > laconic/kernels.json"

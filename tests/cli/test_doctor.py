"""The report: what a line says and when the exit code is 0."""

from __future__ import annotations

import json

import pytest

from laconic.cli import doctor
from laconic.cli.checks import Check

FINE = Check("gloo", ok=True, detail="the CPU backend", install="never shown", core=True)
OPTIONAL = Check("tc", ok=False, detail="link rates", install="apt install iproute2")
BROKEN = Check("all-reduce", ok=False, detail="no answer", install="do this", core=True)


def report(monkeypatch: pytest.MonkeyPatch, *checks: Check, argv: tuple[str, ...] = ()) -> int:
    monkeypatch.setattr(doctor, "CHECKS", [lambda check=check: check for check in checks])
    return doctor.main(argv)


def test_a_missing_part_comes_with_what_to_install() -> None:
    assert doctor.line(OPTIONAL).startswith("missing  tc")
    assert doctor.line(OPTIONAL).endswith("to have it: apt install iproute2")


def test_a_present_part_asks_for_nothing() -> None:
    assert doctor.line(FINE).split() == ["ok", "gloo", "the", "CPU", "backend"]


def test_optional_parts_do_not_fail_the_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(monkeypatch, FINE, OPTIONAL) == 0
    assert "Laconic works on this machine" in capsys.readouterr().out


def test_a_core_part_does(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(monkeypatch, FINE, BROKEN) == 1
    assert "cannot train here yet" in capsys.readouterr().out


def test_json_says_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(monkeypatch, FINE, OPTIONAL, argv=("--json",)) == 0
    seen = json.loads(capsys.readouterr().out)
    assert seen["ok"] is True
    assert [(check["name"], check["ok"]) for check in seen["checks"]] == [
        ("gloo", True),
        ("tc", False),
    ]
    assert set(seen["checks"][0]) == {"name", "ok", "detail", "install", "core"}

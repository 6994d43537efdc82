"""The command itself: verbs are frozen, errors are sentences."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace

import pytest

from laconic.cli import VERBS, main
from laconic.core.errors import PlanError


def test_the_verbs_are_these() -> None:
    talking = {"run", "compare", "demo", "serve", "keygen", "lab"}
    assert set(VERBS) == talking | {"plan", "probe", "profile", "simulate", "bench", "list", "cite", "doctor"}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_file_with_a_main(verb: str) -> None:
    assert callable(importlib.import_module(f"laconic.cli.{verb}").main)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    assert ended.value.code == 0
    assert f"laconic {verb}" in capsys.readouterr().out


def test_a_misspelt_verb_gets_the_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docter"]) == 2
    assert "there is no verb 'docter'. Did you mean 'doctor'?" in capsys.readouterr().err


def test_no_verb_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "laconic VERB" in capsys.readouterr().err


def test_the_version_is_the_package_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == "laconic 0.1.0\n"


def test_an_error_of_ours_is_one_line_without_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(argv: list[str]) -> int:
        raise PlanError("Plan: no such thing. Use another.")

    monkeypatch.setitem(sys.modules, "laconic.cli.list", SimpleNamespace(main=refuse))
    assert main(["list"]) == 2
    assert capsys.readouterr().err == "laconic: Plan: no such thing. Use another.\n"


def test_an_error_of_nobody_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(argv: list[str]) -> int:
        raise ZeroDivisionError

    monkeypatch.setitem(sys.modules, "laconic.cli.list", SimpleNamespace(main=break_down))
    with pytest.raises(ZeroDivisionError):
        main(["list"])

"""Each check answers; those that can be arranged are arranged both ways."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from laconic.cli import checks
from laconic.cli.checks import CHECKS, FASHION_FILES, Check

QUICK = [check for check in CHECKS if check is not checks.all_reduce]


@pytest.mark.parametrize("check", QUICK, ids=lambda check: check.__name__)
def test_every_check_answers_and_a_missing_part_has_advice(check: Callable[[], Check]) -> None:
    result = check()
    assert result.detail
    assert result.ok or result.install


def test_python_torch_gloo_and_the_all_reduce_are_the_core() -> None:
    assert {check().name for check in QUICK if check().core} == {"python", "torch", "gloo"}


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_fashion_mnist_is_found_packed_or_not(tmp_path: Path, ending: str) -> None:
    assert not checks.fashion_mnist(tmp_path).ok
    for name in FASHION_FILES:
        (tmp_path / f"{name}{ending}").touch()
    assert checks.fashion_mnist(tmp_path).ok


def test_a_command_that_is_not_installed_is_missing_not_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not checks.namespaces().ok


def test_tc_is_missing_when_no_folder_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    assert checks.traffic_control().install == "apt install iproute2"
    assert not checks.traffic_control().ok

"""Each check answers; those that can be arranged are arranged both ways."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from laconic.cli import checks
from laconic.cli.checks import CHECKS, FASHION_FILES, Check
from laconic.lab.support import support

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


@pytest.fixture
def asked_anew() -> Iterator[None]:
    support.cache_clear()
    yield
    support.cache_clear()


def test_without_tc_the_lab_is_missing_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, asked_anew: None
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    assert checks.lab() == Check("lab", ok=False, detail="not installed: ip and tc", install="apt install iproute2")
    assert not checks.netem().ok


def test_compiled_kernels_work_and_say_where_they_are_kept() -> None:
    check = checks.kernels()
    assert check.ok
    assert "numba" in check.detail


def test_kernels_that_do_not_compile_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "fault", lambda device: "numba could not compile 'pack': no space left")
    check = checks.kernels()
    assert not check.ok
    assert not check.core
    assert "plain torch: numba could not compile" in check.detail

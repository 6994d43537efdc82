"""The two-process all-reduce, for real."""

from __future__ import annotations

import sys

import pytest

from laconic.cli.loopback import all_reduce_fault


def test_two_processes_sum_a_tensor_here() -> None:
    assert all_reduce_fault() is None


def test_a_silent_process_is_reported_within_the_limit() -> None:
    assert all_reduce_fault(limit_s=0.01) == "no answer within 0.01 s"


def test_a_process_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert all_reduce_fault() == "a process ended with exit code 1"

"""Where a lab cannot work, the reason and the remedy are said before anything starts."""

from __future__ import annotations

import pytest

from laconic.core.errors import UsageError
from laconic.lab import enter as enter_module
from laconic.lab import support as support_module
from laconic.lab.build import build
from laconic.lab.enter import LabError, inside, require
from laconic.lab.spec import LabSpec
from laconic.lab.support import Support, support
from tests.lab.machine import needs_lab


def say(monkeypatch: pytest.MonkeyPatch, seen: Support) -> None:
    monkeypatch.setattr(enter_module, "support", lambda: seen)


def test_the_reason_the_remedy_and_the_way_round_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, Support("the kernel refuses new namespaces (unshare: Operation not permitted)", "run as root"))
    with pytest.raises(LabError, match=r"refuses .*\(unshare: .*\)\. To have one: run as root\. Or use --no-lab"):
        require()


def test_delay_without_netem_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, Support(None, netem=False))
    require(LabSpec(2, 10**6))
    with pytest.raises(LabError, match="delay, jitter and loss need netem, which this kernel does not have"):
        require(LabSpec(2, 10**6, delay_s=0.02))
    say(monkeypatch, Support(None, netem=True))
    require(LabSpec(2, 10**6, delay_s=0.02))


@needs_lab
def test_the_probe_says_what_the_kernel_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    support.cache_clear()
    monkeypatch.setattr(support_module, "tool", lambda name: "/bin/false")
    try:
        assert support().fault == "a bridge was refused (exit code 1)"
        assert "docker run" in support().advice
    finally:
        support.cache_clear()


def test_a_lab_is_never_built_in_the_machines_own_network() -> None:
    assert not inside()
    with pytest.raises(UsageError, match="inside fresh namespaces only"), build(LabSpec(2)):
        pass


def test_a_mark_from_elsewhere_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LACONIC_LAB", "1")
    assert not inside()

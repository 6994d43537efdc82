"""`laconic lab`: what is refused, what a line and the verdict say. Real labs stand in tests/lab."""

from __future__ import annotations

import pytest

from laconic.cli import lab, main
from laconic.lab import enter as enter_module
from laconic.lab.check import Route, Throughput, wire_bytes
from laconic.lab.support import Support

KB = 1024


def test_a_host_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "shell", "--hosts", "2", "--host", "2"]) == 2
    assert "there is no host 2: the hosts are 0 to 1" in capsys.readouterr().err


def test_a_lab_without_a_lab_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "check", "--no-lab"]) == 2
    assert "leave --no-lab out" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["check", "shell"])
def test_a_slow_host_is_refused_where_nothing_trains(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", what, "--slow", "1=0.25"]) == 2
    assert f"`laconic lab {what}` starts none. Leave it out" in capsys.readouterr().err


def test_a_single_host_has_no_link_to_measure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "check", "--hosts", "1"]) == 2
    assert "measures --hosts 2 or more" in capsys.readouterr().err


def test_where_there_is_no_lab_the_command_says_why(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enter_module, "support", lambda: Support("not installed: tc", "apt install iproute2"))
    for words in (["lab", "check"], ["run", "--hosts", "2", "-m", "laconic.tasks.digits"]):
        assert main(words) == 2
        assert "no lab can be built here: not installed: tc. To have one: apt install" in capsys.readouterr().err


def test_headers_count_for_every_packet() -> None:
    assert wire_bytes(1448) == 1514
    assert wire_bytes(1449) == 1449 + 2 * 66


def seen(ratio: float) -> Throughput:
    """Three messages of 64 KB, the middle one at `ratio` of 100 Mbit/s."""
    seconds = 8 * wire_bytes(64 * KB) / 1e8 / ratio
    return Throughput(64 * KB, (seconds, seconds / 3, seconds * 2), 10**8)


@pytest.mark.parametrize(("ratio", "ok"), [(1.0, True), (0.91, True), (0.89, False), (1.11, False)])
def test_within_ten_percent_is_good(ratio: float, ok: bool) -> None:
    assert seen(ratio).ok == ok
    route = Route(0, 1, 1e-4, (seen(1.0), seen(ratio)), ())
    assert route.ok == ok
    assert lab.line(route, seen(ratio)).endswith("off") != ok


def test_a_line_has_the_route_the_size_what_was_asked_and_what_came() -> None:
    route = Route(0, 1, 1e-4, (), ())
    words = lab.line(route, seen(0.975)).split()
    assert words == ["host0", "->", "host1", "64", "KB", "100mbit", "97.5mbit", "48.8mbit", "0.97"]


def test_what_was_not_shaped_has_no_verdict() -> None:
    free = Throughput(64 * KB, (0.001,), None)
    assert free.ok
    assert " - " in lab.line(Route(0, 1, 1e-4, (), ()), free)


def test_the_verdict_names_the_routes_that_are_off() -> None:
    assert "holds its rates" in lab.verdict([])
    assert "off by more than 10% on host0 -> host1." in lab.verdict(["host0 -> host1", "host0 -> host1"])

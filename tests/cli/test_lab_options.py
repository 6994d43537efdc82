"""The options of a lab become a LabSpec, or a sentence."""

from __future__ import annotations

import argparse

import pytest

from laconic.cli.lab_options import add_lab_options, lab_spec, sites
from laconic.core.errors import UsageError
from laconic.lab.spec import LabSpec


def parsed(*argv: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_lab_options(parser)
    return parser.parse_args(argv)


def test_all_options_reach_the_spec() -> None:
    rates = ("--rate", "100mbit", "--up", "2=10mbit", "--up", "1=1gbit", "--down", "0=5mbit")
    path = ("--delay", "20ms", "--jitter", "2ms", "--loss", "0.1%")
    spec = lab_spec(parsed("--hosts", "3", *rates, "--slow", "2=0.25", *path))
    assert spec == LabSpec(3, 10**8, {2: 10**7, 1: 10**9}, {0: 5 * 10**6}, {2: 0.25}, 0.02, 0.002, 0.001)


def test_without_hosts_there_is_no_lab_and_nothing_to_shape() -> None:
    assert lab_spec(parsed()) is None
    for option in (("--rate", "1gbit"), ("--slow", "0=0.5"), ("--no-lab",)):
        with pytest.raises(UsageError, match=f"{option[0]} says how emulated hosts are; say also how many"):
            lab_spec(parsed(*option))


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("--up", "10mbit", "write the host's number, an equals sign"),
        ("--up", "a=10mbit", "write the host's number"),
        ("--slow", "1=half", "'half' is not a share of time"),
        ("--down", "1=fast", "is not a rate"),
        ("--up", "7=10mbit", "the hosts are 0 to 1"),
    ],
)
def test_what_cannot_be_read_says_how_to_write_it(option: str, value: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        lab_spec(parsed("--hosts", "2", option, value))


def test_a_host_named_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="names host 1 twice"):
        lab_spec(parsed("--hosts", "2", "--up", "1=1mbit", "--up", "1=2mbit"))


def test_no_lab_is_loopback_with_the_stragglers_and_says_what_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    args = parsed("--hosts", "2", "--rate", "100mbit", "--slow", "1=0.5", "--no-lab")
    assert lab_spec(args) is None
    with sites(args) as places:
        assert [(place.address, place.netns, place.share) for place in places] == [
            ("127.0.0.1", None, 1.0),
            ("127.0.0.1", None, 0.5),
        ]
    said = "laconic: --no-lab: 2 processes over loopback, not hosts of a lab; --rate cannot apply there.\n"
    assert capsys.readouterr().err == said


def test_bad_options_are_refused_with_no_lab_too() -> None:
    with pytest.raises(UsageError):
        lab_spec(parsed("--hosts", "2", "--rate", "fast", "--no-lab"))

"""The options that describe a lab, for every verb that can run in one, and where its ranks then live."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from laconic.core.errors import UsageError
from laconic.lab.build import build
from laconic.lab.rate import parse_percent, parse_rate, parse_seconds
from laconic.lab.spec import LabSpec
from laconic.launch.job import Site, local_sites

T = TypeVar("T")
OPTIONS = ("rate", "up", "down", "slow", "delay", "jitter", "loss")


def add_lab_options(parser: argparse.ArgumentParser) -> None:
    lab = parser.add_argument_group("lab", "emulated hosts with slow links on this machine (docs/lab.md)")
    lab.add_argument("--hosts", type=int, metavar="N", help="so many hosts, each in a network of its own")
    lab.add_argument(
        "--rate", metavar="RATE", help="of every link in both directions: 100mbit, 1gbit (default: not shaped)"
    )
    lab.add_argument("--up", action="append", metavar="HOST=RATE", help="another rate from that host (0, 1, ...)")
    lab.add_argument("--down", action="append", metavar="HOST=RATE", help="another rate to that host")
    lab.add_argument(
        "--slow", action="append", metavar="HOST=SHARE", help="its processes run that share of the time: 2=0.25"
    )
    lab.add_argument("--delay", metavar="TIME", help="of every packet, one way: 20ms")
    lab.add_argument("--jitter", metavar="TIME", help="how much the delay varies: 2ms")
    lab.add_argument("--loss", metavar="PERCENT", help="of packets: 0.1%%")
    lab.add_argument("--no-lab", action="store_true", help="plain processes over loopback in place of emulated hosts")


def given(args: argparse.Namespace) -> list[str]:
    """Which of the options that say how hosts are."""
    words = [f"--{name}" for name in OPTIONS if getattr(args, name) is not None]
    return [*words, "--no-lab"] if args.no_lab else words


def lab_spec(args: argparse.Namespace) -> LabSpec | None:
    """The lab the user asked for; None without --hosts or with --no-lab."""
    if args.hosts is None:
        if words := given(args):
            raise UsageError(f"{words[0]} says how emulated hosts are; say also how many: --hosts N.")
        return None
    spec = LabSpec(
        hosts=args.hosts,
        rate=None if args.rate is None else parse_rate(args.rate),
        up=_per_host("--up", args.up, parse_rate),
        down=_per_host("--down", args.down, parse_rate),
        slow=_per_host("--slow", args.slow, _share),
        delay_s=parse_seconds(args.delay or "0s"),
        jitter_s=parse_seconds(args.jitter or "0s"),
        loss=parse_percent(args.loss or "0%"),
    )
    return None if args.no_lab else spec


@contextlib.contextmanager
def sites(args: argparse.Namespace) -> Iterator[list[Site]]:
    """Where the ranks live: the hosts of a lab, built for as long as the `with` lasts, or loopback."""
    spec = lab_spec(args)
    if spec is None:
        yield _loopback(args)
        return
    with build(spec) as lab:
        yield lab.sites()


def _loopback(args: argparse.Namespace) -> list[Site]:
    """`--no-lab`: what cannot be had there is named."""
    lost = [f"--{name}" for name in OPTIONS if name != "slow" and getattr(args, name) is not None]
    without = f"; {', '.join(lost)} cannot apply there" if lost else ""
    print(f"laconic: --no-lab: {args.hosts} processes over loopback, not hosts of a lab{without}.", file=sys.stderr)
    shares = _per_host("--slow", args.slow, _share)
    return [replace(site, share=shares.get(host, 1.0)) for host, site in enumerate(local_sites(args.hosts))]


def _per_host(option: str, texts: Sequence[str] | None, parse: Callable[[str], T]) -> dict[int, T]:
    values: dict[int, T] = {}
    for text in texts or ():
        host, equals, value = text.partition("=")
        if not equals or not host.strip().isdecimal():
            raise UsageError(f"{option} {text}: write the host's number, an equals sign and the value, as in 2=...")
        if int(host) in values:
            raise UsageError(f"{option} names host {int(host)} twice.")
        values[int(host)] = parse(value)
    return values


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"'{text}' is not a share of time. Write a number above 0 and at most 1.") from None

"""`laconic lab shell` and `laconic lab check`: look around in the emulated hosts, and measure them.

A lab exists only while a command runs in it; both commands build theirs and leave nothing behind.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

from laconic.cli.lab_options import add_lab_options, lab_spec
from laconic.cli.signals import ending_on_signals
from laconic.core.errors import UsageError
from laconic.core.units import seconds_text
from laconic.lab.build import build, name
from laconic.lab.check import TOLERANCE, Route, Throughput, measure
from laconic.lab.enter import enter, inside
from laconic.lab.rate import rate_text
from laconic.lab.spec import LabSpec
from laconic.launch.linux import enter_network


def main(argv: Sequence[str]) -> int:
    args = parser().parse_args(argv)
    if args.no_lab:
        raise UsageError("`laconic lab` without a lab is nothing; leave --no-lab out.")
    if args.slow is not None:
        raise UsageError(
            f"--slow slows the processes of a training, and `laconic lab {args.what}` starts none. Leave it out."
        )
    spec = lab_spec(args)
    assert spec is not None, "hosts have a default"
    if args.what == "check" and spec.hosts == 1:
        raise UsageError("a message needs two ends: `laconic lab check` measures --hosts 2 or more.")
    if args.what == "shell" and not 0 <= args.host < spec.hosts:
        raise UsageError(f"there is no host {args.host}: the hosts are 0 to {spec.hosts - 1}.")
    if not inside():
        return enter(["lab", *argv], spec, terminal=args.what == "shell")
    return shell(spec, args.host, args.command) if args.what == "shell" else check(spec)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="laconic lab", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    whats = parser.add_subparsers(dest="what", required=True)
    for what, summary in (("shell", "a shell inside one host"), ("check", "measure the lab and give a verdict")):
        sub = whats.add_parser(what, help=summary, description=summary)
        add_lab_options(sub)
        sub.set_defaults(hosts=4, rate="100mbit")
        if what == "shell":
            sub.add_argument("--host", type=int, default=0, help="which one (default 0)")
            sub.add_argument("command", nargs="*", help="in place of a shell; after --")
    return parser


def shell(spec: LabSpec, host: int, command: Sequence[str]) -> int:
    """The user's shell, or a command, in the network of one host; its exit code."""
    words = list(command) or [os.environ.get("SHELL", "/bin/sh")]
    with ending_on_signals(interrupt=False), build(spec) as lab:
        places = lab.sites()
        if not command:
            listed = ", ".join(f"{name(i)} ({site.address})" for i, site in enumerate(places))
            print(f"Lab: {spec}. You are on {name(host)}. Hosts: {listed}.")
            print(f"Another host's view: ip netns exec {name((host + 1) % spec.hosts)} COMMAND. Leave with exit.")
            sys.stdout.flush()
        network = places[host].netns
        assert network is not None
        try:
            return exit_code(subprocess.call(words, preexec_fn=lambda: enter_network(network)))
        except OSError as error:
            raise UsageError(f"{words[0]} does not start: {error.strerror}.") from None


def check(spec: LabSpec) -> int:
    """Print every route as it is measured; 1 if one is off."""
    print(f"Lab: {spec}. Single messages; headers of Ethernet, IP and TCP count, as they do for the token buckets.")
    print(f"{'route':16}  {'message':>8}  {'asked':>9}  {'measured':>9}  {'slowest':>9}  {'ratio':>5}")
    bad = []
    with ending_on_signals(), build(spec) as lab:
        for route in measure(lab):
            for throughput in route.throughputs:
                print(line(route, throughput), flush=True)
            for size in route.too_long:
                print(f"{label(route):16}  {size_text(size):>8}  not sent: it would take too long at this rate")
            print(f"{label(route):16}  {'1 byte':>8}  latency {seconds_text(route.latency_s)}", flush=True)
            bad += [] if route.ok else [label(route)]
    print(verdict(bad))
    return 1 if bad else 0


def line(route: Route, seen: Throughput) -> str:
    asked = "-" if seen.asked is None else rate_text(seen.asked)
    ratio = "" if seen.asked is None else f"{seen.median / seen.asked:5.2f}{'' if seen.ok else '  off'}"
    rates = f"{rounded(seen.median):>9}  {rounded(seen.slowest):>9}"
    return f"{label(route):16}  {size_text(seen.size):>8}  {asked:>9}  {rates}  {ratio}"


def label(route: Route) -> str:
    return f"{name(route.source)} -> {name(route.target)}"


def size_text(size: int) -> str:
    return f"{size >> 20} MB" if size >= 1 << 20 else f"{size >> 10} KB"


def rounded(rate: float) -> str:
    return rate_text(float(f"{rate:.3g}"))


def verdict(bad: Sequence[str]) -> str:
    if not bad:
        return f"The lab holds its rates: every median lies within {TOLERANCE:.0%} of what was asked."
    return (
        f"The lab does not hold its rates: off by more than {TOLERANCE:.0%} on {', '.join(dict.fromkeys(bad))}. "
        "The usual reasons: other programs keep the cores busy, or the rate is above 1gbit."
    )


def exit_code(status: int) -> int:
    return status if status >= 0 else 128 - status

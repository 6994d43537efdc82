"""`laconic demo` (and `make demo`): two small tasks on four emulated hosts at 100 Mbit/s, DDP against three plans.

It is `laconic compare` twice, with one page at the end. Where no lab can be built it runs over loopback and says so.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

from laconic.cli.compare import arguments, keep, measure, places, read, stopping
from laconic.compare.html import page
from laconic.compare.lines import Comparison
from laconic.compare.table import as_text
from laconic.core.files import check_writable
from laconic.lab.enter import enter, inside
from laconic.lab.support import support

PLANS = "qsgd(4); local(4); local(4) / bf16"
SHARED = ("--plans", PLANS, "--baselines", "ddp", "--repeat", "2")
LAB = ("--hosts", "4", "--rate", "100mbit")
LOOPBACK = ("-n", "4")
TASKS = (
    ("digits", "--steps", "64"),
    (
        "bytes",
        "--steps",
        "32",
        "--layers",
        "2",
        "--width",
        "128",
        "--heads",
        "4",
        "--context",
        "64",
        "--lr",
        "0.001",
        "--batch",
        "4",
    ),
)


def main(argv: Sequence[str]) -> int:
    """Compare twice and write the page; 1 if a row failed."""
    parser = argparse.ArgumentParser(prog="laconic demo", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--html", type=Path, default=Path("laconic-demo.html"), metavar="OUT", help="(default: %(default)s)"
    )
    parser.add_argument("--no-lab", action="store_true", help="over loopback in any case")
    args = parser.parse_args(argv)
    check_writable(args.html, "--html")
    fault = "--no-lab was given" if args.no_lab else support().fault
    if fault is None and not inside():
        return enter(["demo", *argv])
    if fault is not None:
        print(f"Over loopback, without emulated hosts ({fault}): network gains cannot show here.\n", flush=True)
    with stopping() as signals:
        done = list(compared(LOOPBACK if fault else LAB))
        kept = keep(args.html, page(done, "Laconic's demo: plans side by side with DDP"))
    if kept:
        print(f"The same as a page: {args.html.resolve()}")
    if not done[-1].complete:
        return 128 + (signals or [signal.SIGINT])[0]
    return 0 if kept and not any(comparison.failed for comparison in done) else 1


def compared(where: Sequence[str]) -> Iterator[Comparison]:
    """One task after the other, each told in full; after an interruption nothing follows."""
    for task in TASKS:
        argv = (*task, *where, *SHARED)
        args, rest = arguments(argv)
        request = read(args, rest, argv)
        with places(args) as sites:
            comparison = measure(request, sites)
        print(f"{request.setting.command}\n\n{as_text(comparison)}\n", flush=True)
        yield comparison
        if not comparison.complete:
            return

"""`laconic bench kernels`: how fast compressors are on this machine, and on which links they pay off."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from laconic.catalogue import catalogue
from laconic.cli.bare import BARE
from laconic.cli.jobs import Make, job_of
from laconic.cli.machine import facts
from laconic.cli.measure import Measured, measure
from laconic.compress import AbstractCompressor
from laconic.core.errors import UsageError
from laconic.plan import Plan

SIZES = (100_000, 1_000_000, 25_000_000)
# Settings that the catalogue's examples leave out.
MORE = ("qsgd(8)", "qsgd(2)", "ef(qsgd(8))", "ef(qsgd(4))", "ef(qsgd(2))", "ef(sign)")
MARKS = """GB/s of input, at best (and in the middle); copy: share of the rate at which a STREAM copy moves bytes."""


def main(argv: Sequence[str]) -> int:
    """Measure and print size by size, or one JSON object at the end."""
    args = _parser().parse_args(argv)
    jobs, rows = _jobs(args.only), list[Measured]()
    if not args.json:
        print(f"One thread. {MARKS}\n\n{HEADING}")
    for size in args.sizes or SIZES:
        seen = measure(jobs, size, args.seconds, reference=args.reference)
        rows += seen
        if not args.json:
            print("\n".join(map(line, seen)), flush=True)
    if args.json:
        print(json.dumps({"machine": facts(), "rows": [asdict(row) | {"pays": pays(row)} for row in rows]}, indent=2))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="laconic bench", description=__doc__)
    parser.add_argument("subject", choices=["kernels"], help="what to measure")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--only", metavar="PLANS", nargs="+", help="only these, as a plan says them")
    parser.add_argument("--sizes", metavar="N", nargs="+", type=_count, help="elements (default: 1e5 1e6 25e6)")
    parser.add_argument("--seconds", type=float, default=1.0, help="to spend on each, more or less (default: 1)")
    parser.add_argument("--reference", action="store_true", help="also in plain torch, and how much slower that is")
    return parser


def _count(text: str) -> int:
    try:
        n = int(float(text))
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of elements") from None
    if n < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: at least one element")
    return n


def _jobs(only: Sequence[str] | None) -> dict[str, Make]:
    return {str(plan): partial(job_of, plan) for plan in _plans(only)} | ({} if only else BARE)


def _plans(only: Sequence[str] | None) -> list[AbstractCompressor]:
    texts = only or [e.usage for e in catalogue() if e.folder == "compress" and e.name != "none"] + [*MORE]
    return [_compressor(text) for text in dict.fromkeys(texts)]


def _compressor(text: str) -> AbstractCompressor:
    plan = Plan.parse(text)
    if plan.compress == Plan().compress:
        raise UsageError(f"{text!r} names no compressor that could be timed. `laconic list` prints them.")
    if plan != Plan(compress=plan.compress):
        raise UsageError(f"{text!r} says more than {plan.compress}, of which nothing is timed. Leave the rest out.")
    return plan.compress


def pays(row: Measured) -> bool:
    """Is it faster than sending the raw bytes at 1 Gbit/s?"""
    return row.gbit_s is None or row.gbit_s >= 1.0


HEADING = (
    f"{'compressor':24} {'elements':>9} {'bits':>6}  {'encode':>14} {'copy':>5}  {'decode+add':>14} {'copy':>5}  "
    f"{'pays off below':>14}"
)


def line(row: Measured) -> str:
    encode = f"{row.encode.gb_s:6.2f} ({row.encode.median_gb_s:5.2f})"
    decode = f"{row.decode.gb_s:6.2f} ({row.decode.median_gb_s:5.2f})" if row.decode else ""
    below = "never" if row.gbit_s is None else f"{row.gbit_s:.3g} Gbit/s"
    slower = f"  {row.slower:.1f}x plain torch" if row.slower else ""
    return (
        f"{row.compressor:24} {row.elements:9} {row.bits:6.2f}  {encode:>14} {_share(row.encode.of_copy):>5}  "
        f"{decode:>14} {_share(row.decode.of_copy if row.decode else None):>5}  {below:>14}{slower}"
    )


def _share(of_copy: float | None) -> str:
    return "" if of_copy is None else f"{of_copy:.2f}"

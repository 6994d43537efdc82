"""`laconic doctor`: what works on this machine, and what to install for the rest."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict

from laconic.cli.checks import CHECKS, Check
from laconic.cli.weights import weights_report
from laconic.core.errors import UsageError


def main(argv: Sequence[str]) -> int:
    """Run every check; 0 if training works here, whatever optional parts are missing."""
    parser = argparse.ArgumentParser(prog="laconic doctor", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--weights", metavar="FILE", help="check a file of mixing weights for gossip, and nothing else")
    args = parser.parse_args(argv)
    if args.weights is not None and args.json:
        raise UsageError("--weights says its findings in words only. Leave --json out.")
    if args.weights is not None:
        print(weights_report(args.weights))
        return 0
    checks = []
    for check in CHECKS:
        result = check()
        checks.append(result)
        if not args.json:
            print(line(result), flush=True)
    works = all(check.ok for check in checks if check.core)
    print(as_json(checks, works=works) if args.json else verdict(works=works))
    return 0 if works else 1


def line(check: Check) -> str:
    """`ok` or `missing`, the name, what was seen and, when missing, what to install."""
    status = "ok" if check.ok else "missing"
    advice = "" if check.ok or not check.install else f"; to have it: {check.install}"
    return f"{status:7}  {check.name:13}  {check.detail}{advice}"


def as_json(checks: Sequence[Check], *, works: bool) -> str:
    """The same report for programs."""
    return json.dumps({"ok": works, "checks": [asdict(check) for check in checks]}, indent=2)


def verdict(*, works: bool) -> str:
    """The last line: can I train here?"""
    if works:
        return "\nLaconic works on this machine. What is missing above is optional."
    return "\nLaconic cannot train here yet: a core part above is missing."

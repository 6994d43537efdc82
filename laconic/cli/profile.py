"""`laconic profile`: what a step of your own script computes, layer by layer, into model.json; no edits.

    laconic profile digits -o model.json
    laconic profile train.py -n 4 -o model.json -- --batch 32

The script runs for some steps (three to settle, 30 to 130 that count) and is then ended; it must call
laconic.distribute without a plan, as for `laconic compare`. With -n as many ranks run at once, without talking, so that
seconds are those of a machine as busy as it will be; take as many as you will train with.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from laconic.cli.passing_on import divided
from laconic.cli.signals import ending_on_signals
from laconic.compare.run import last_words
from laconic.compare.workload import TASKS, workload
from laconic.core.errors import LaconicError, UsageError
from laconic.core.files import check_writable
from laconic.core.units import seconds_text
from laconic.launch.job import Job, Script, Site, local_sites
from laconic.planner.profiler import NEEDED, SHORT, WANTED
from laconic.sim.model import ModelTable, read_model

LIMIT_S = 1800.0
LAST_LINES = 12  # of what a script that failed printed


def main(argv: Sequence[str]) -> int:
    args, rest = divided(parser(), argv)
    if args.n < 1:
        raise UsageError(f"-n {args.n}: give at least 1 rank.")
    check_writable(args.output, "-o")
    with ending_on_signals():
        table = profiled(args.task, rest, local_sites(args.n))
    table.write(args.output)
    print(as_text(table))
    return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="laconic profile",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("task", metavar="TASK", help=f"{', '.join(TASKS)}, or a script")
    made.add_argument("-n", type=int, default=1, metavar="N", help="ranks that compute at once (default 1)")
    made.add_argument("-o", "--output", type=Path, default=Path("model.json"), help="where to (default model.json)")
    return made


def profiled(task: str, rest: Sequence[str], sites: Sequence[Site]) -> ModelTable:
    work = workload(task, rest, None)
    if work.is_task:
        work = replace(work, steps=WANTED + 2)
    return run(work.script(0), sites, task)


class NotMeasuredError(LaconicError):
    """A script that ended by itself, or whose time was over, before enough of its steps were seen."""


def run(script: Script, sites: Sequence[Site], name: str, env: Mapping[str, str] | None = None) -> ModelTable:
    """By the rank that had seen enough first: others may then miss it in exchanges of the script's own, and fail."""
    with tempfile.TemporaryDirectory(prefix="laconic-profile-") as made:
        folder, log = Path(made), Path(made) / "log.txt"
        env = {**(env or {}), "LACONIC_PROFILE": made, "LACONIC_PLAN": "silent"}
        with Job(script, sites, env=env, output=log) as job:
            code = job.wait(LIMIT_S)
        tables, short = sorted(folder.glob("rank*.json")), sorted(folder.glob(f"rank*{SHORT}"))
        if tables:
            whole = [table for table in tables if table.with_suffix(SHORT) not in short]
            if code != 0 and not whole:
                _say_failed(name, max(int(path.read_text()) for path in short), code, log)
            return replace(read_model((whole or tables)[0]), name=name)
        if code == 0 and short:
            raise NotMeasuredError(
                f"The script ends after {short[0].read_text()} steps, too few to measure one: {NEEDED} are needed."
            )
        failed = f"The profile of {name} failed: {_why(code)}.\n{last_words(log, LAST_LINES)}".strip()
        raise NotMeasuredError(failed) if code is None else LaconicError(failed)


def _why(code: int | None) -> str:
    if code is None:
        return f"it took longer than {LIMIT_S:g} s"
    if code == 0:
        return "it never called laconic.distribute: add `replica = laconic.distribute(model, optimizer)` to it"
    return f"exit code {code}"


def _say_failed(name: str, steps: int, code: int | None, log: Path) -> None:
    """Not of a rank that failed because another had seen enough and left."""
    print(
        f"laconic profile: {name} failed after {steps} steps: {_why(code)}. The profile is of these steps.\n"
        f"{last_words(log, LAST_LINES)}",
        file=sys.stderr,
    )


def as_text(table: ModelTable) -> str:
    head = (
        f"{table.name}: {table.numel / 1e6:.2f} M parameters in {len(table.weights)} tensors, batch {table.batch}; "
        f"forward {seconds_text(table.forward_s)}, backward {seconds_text(table.backward_s)}, update "
        f"{seconds_text(table.update_s)}, other {seconds_text(table.other_s)} ({table.how})"
    )
    largest = sorted(table.weights, key=lambda w: -w.backward_s)[:8]
    return "\n".join(
        [head, *(f"  {w.name:40} {w.numel:10} elements  backward {seconds_text(w.backward_s)}" for w in largest)]
    )

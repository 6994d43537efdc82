"""`laconic compare`: several plans and torch's own DDP on one task or script, side by side, interleaved, in one table.

Every row gets the same data and seeds. Baselines always run: DDP and its bf16 and PowerSGD hooks; so does `silent`, the
floor without communication. What TASK does not know of these options goes to the task or script, as does all after --.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from laconic.cli.auto import Trial, choose, is_auto
from laconic.cli.lab_options import add_lab_options, lab_spec
from laconic.cli.lab_options import sites as hosts_of
from laconic.cli.machine import facts
from laconic.cli.passing_on import divided
from laconic.cli.servers import job_key
from laconic.cli.signals import ENDING
from laconic.compare.html import page
from laconic.compare.lines import Comparison, Setting
from laconic.compare.order import evaluate_every
from laconic.compare.report import as_json
from laconic.compare.rows import BASELINES, DDP, DEFAULT_PLANS, NOT_CHOSEN, Kind, names_a_baseline, split
from laconic.compare.rows import choose as choose_rows
from laconic.compare.rows import read as read_row
from laconic.compare.run import Request, plan_turns, run_all
from laconic.compare.show import Show
from laconic.compare.table import as_text
from laconic.compare.target import read as read_target
from laconic.compare.workload import TASKS, Workload, check_target, workload
from laconic.core.errors import LaconicError, UsageError
from laconic.core.files import check_writable, write_whole
from laconic.lab.enter import enter, inside
from laconic.lab.spec import LabSpec
from laconic.launch.job import Site, local_sites
from laconic.planner.finalists import longest
from laconic.planner.profiler import WANTED

WORLD = 4
LIMIT_S = 3600.0
EPILOG = """examples:
  laconic compare digits -n 4 --plans "ef(topk(0.01)); local(8)"
  laconic compare bytes --hosts 4 --rate 100mbit --until "loss<=2.5" --html out.html
  laconic compare fashion --model resnet18 --hosts 4 --rate 100mbit
  laconic compare train.py -n 4 --plans-file plans.txt -- --epochs 1
"""


@dataclass(frozen=True)
class Outputs:
    json: Path | None
    html: Path | None

    def check(self) -> None:
        """Before the runs, which may take hours."""
        if self.json is not None and self.json == self.html:
            raise UsageError(f"--json and --html both name {self.json}. Name two files.")
        for option, path in (("--json", self.json), ("--html", self.html)):
            if path is not None:
                check_writable(path, option)

    def write(self, comparison: Comparison) -> bool:
        """False if a file could not be kept after all; the table is on the screen then."""
        texts = ((self.json, as_json(comparison)), (self.html, page([comparison])))
        good = True
        for path, text in texts:
            if path is not None:
                good = keep(path, text) and good
        return good


def main(argv: Sequence[str]) -> int:
    """Compare; 1 if a row failed, 130 after Ctrl-C, with what was finished by then."""
    args, rest = arguments(argv)
    request, outputs = read(args, rest, argv), Outputs(args.json, args.html)
    outputs.check()
    if request.setting.lab and not inside():
        return enter(["compare", *argv], lab_spec(args))
    with stopping() as signals, places(args) as sites:
        comparison = measure(_settled(request, args, rest, sites), sites)
        print(as_text(comparison), flush=True)
        kept = outputs.write(comparison)
    if not comparison.complete:
        return 128 + (signals or [signal.SIGINT])[0]
    return 1 if comparison.failed or not kept else 0


def _settled(request: Request, args: argparse.Namespace, rest: Sequence[str], sites: Sequence[Site]) -> Request:
    """With a row for what `auto` chose, where it is among the plans."""
    rows = list(request.rows)
    for text in filter(is_auto, _plans(args)):
        chosen = _chosen(text, workload(args.task, rest, args.steps), sites, args.limit)
        plan = read_row(chosen or DDP)
        rows.insert(-1, replace(plan, text=f"{text} = {chosen or NOT_CHOSEN}", kind=Kind.PLAN))
    return replace(request, rows=tuple(rows))


def _chosen(text: str, work: Workload, sites: Sequence[Site], limit_s: float) -> str | None:
    """A task takes as many steps as it is watched and tried for; a script that fails then (None) need not fail in all
    rows."""
    steps = work.steps
    if work.is_task:
        work = replace(work, steps=max(WANTED + 2, longest()))
    try:
        return choose(text, Trial(work.script, steps, limit_s=limit_s), sites)
    except LaconicError as error:
        print(f"laconic compare: {text} could not choose and takes DDP. {error}", file=sys.stderr, flush=True)
        return None


def measure(request: Request, sites: Sequence[Site]) -> Comparison:
    return run_all(request, sites, Show(plan_turns(request), sys.stderr))


def places(args: argparse.Namespace) -> contextlib.AbstractContextManager[list[Site]]:
    """The hosts of a lab (or of --no-lab), or so many processes over loopback."""
    return contextlib.nullcontext(local_sites(args.n or WORLD)) if args.hosts is None else hosts_of(args)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="laconic compare",
        usage="laconic compare TASK|script.py [options] [-- the task's or script's own arguments]",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = made.add_argument
    add("task", metavar="TASK", help=f"{', '.join(TASKS)}, or a script that leaves the plan out of laconic.distribute")
    which = made.add_mutually_exclusive_group()
    which.add_argument("--plans", metavar="TEXT", help=f'separated by ";" (default: "{"; ".join(DEFAULT_PLANS)}")')
    which.add_argument("--plans-file", type=Path, metavar="FILE", help="one plan a line, # begins a remark")
    add("--baselines", metavar="TEXT", help=f'besides ddp (default: "{"; ".join(BASELINES)}")')
    add("-n", type=int, metavar="N", help=f"processes over loopback, without a lab (default: {WORLD})")
    steps = ", ".join(f"{name} {count}" for name, count in TASKS.items())
    add("--steps", type=int, metavar="S", help=f"per run (default: {steps}; a script: its own). A script is ended then")
    add("--repeat", type=int, default=3, metavar="K", help="runs of each row (default: 3)")
    add("--until", metavar="METRIC>=X", help='report time and bytes to a metric, e.g. "accuracy>=0.97"')
    add("--json", type=Path, metavar="OUT", help="write the result as one JSON object")
    add("--html", type=Path, metavar="OUT", help="write the result as one page")
    add("--limit", type=float, default=LIMIT_S, metavar="SECONDS", help="for one run (default: 3600)")
    add_lab_options(made)
    return made


def arguments(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Our options, and what belongs to the task or script."""
    return divided(parser(), argv)


def read(args: argparse.Namespace, rest: Sequence[str], argv: Sequence[str]) -> Request:
    """Everything that can be refused is refused here."""
    if args.n is not None and args.hosts is not None:
        raise UsageError("--hosts and -n were both given: take --hosts for emulated hosts, -n for loopback.")
    if args.n is not None and args.n < 1:
        raise UsageError(f"-n {args.n}: give at least 1 process.")
    if args.repeat < 1:
        raise UsageError(f"--repeat {args.repeat}: give at least 1.")
    if not args.limit > 0:
        raise UsageError(f"--limit {args.limit:g}: give a number of seconds above 0.")
    baselines = BASELINES if args.baselines is None else split(args.baselines)
    names_a_baseline(baselines)
    rows = choose_rows([text for text in _plans(args) if not is_auto(text)], baselines)
    work = workload(args.task, rest, args.steps)
    until = None if args.until is None else read_target(args.until)
    if until is not None:
        check_target(work, until)
        work = _evaluated_on_the_way(work, rest, evaluate_every(work.steps or 1, rows))
    spec = lab_spec(args)
    setting = Setting(
        task=args.task,
        args=tuple(rest),
        hosts=args.hosts or args.n or WORLD,
        rate=None if spec is None else args.rate,
        lab=spec is not None,
        link=_link(spec),
        steps=work.steps,
        repeat=args.repeat,
        until=until,
        command=shlex.join(["laconic", "compare", *argv]),
        machine=facts(),
        batch=work.batch,
    )
    return Request(setting, rows, work.script, args.limit, work.last_step, job_key(None, os.environ, insecure=False))


def _link(spec: LabSpec | None) -> str:
    """What is set besides one rate for all."""
    return "" if spec is None or spec == LabSpec(spec.hosts, spec.rate) else str(spec)


def _evaluated_on_the_way(work: Workload, rest: Sequence[str], steps: int) -> Workload:
    """Unless the user said when."""
    own = any(word.partition("=")[0] == "--eval-every" for word in rest)
    return work if own or not work.is_task else replace(work, evaluate_every=steps)


def _plans(args: argparse.Namespace) -> Sequence[str]:
    if args.plans is not None:
        return split(args.plans)
    if args.plans_file is None:
        return DEFAULT_PLANS
    try:
        return split(args.plans_file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--plans-file {args.plans_file} cannot be read: {error}.") from error


def keep(path: Path, text: str) -> bool:
    try:
        write_whole(path, text)
    except OSError as error:
        print(f"laconic compare: {path} could not be written: {error}.", file=sys.stderr)
        return False
    return True


@contextlib.contextmanager
def stopping() -> Iterator[list[int]]:
    """The first Ctrl-C, SIGTERM or SIGHUP ends the runs, and what is finished is shown undisturbed by more of them."""
    came: list[int] = []

    def stop(number: int, _: object) -> None:
        came.append(number)
        for other in ENDING:
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in ENDING}
    try:
        yield came
    finally:
        for number, action in before.items():
            signal.signal(number, action)

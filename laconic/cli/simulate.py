"""`laconic simulate`: how long a plan's step would take, on workers and links that need not exist.

    laconic simulate "ef(topk(0.01))" none --model bert-large --workers 4,32,1024 --link 10gbit:50us
    laconic simulate none --model model.json --workers 16 --link 1gbit:100us --stragglers "lognormal(0.2)"
    laconic simulate none --model resnet50 --workers 64 --regions 4 --across 1gbit:30ms --timeline out.json
    laconic simulate "ef(topk(0.01))" none --train digits --workers 256 --link 1gbit:100us

Speedup is over one worker on its own: workers times its step over this one. With stragglers that is an ordinary worker,
none of the slow ones; where every step varies, one that takes the mean of all draws. What is assumed, and how well it
predicts: docs/scale.md. PLAN is a plan's text; several may be given. `ddp` is the plan none.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from laconic.cli.simulate_setting import MODEL, STEPS, heading, machine_of, model_of, network_of, settings
from laconic.cli.simulate_table import as_table, row
from laconic.core.errors import PlanError, UsageError
from laconic.core.files import check_writable, json_text, write_whole
from laconic.lab.rate import parse_seconds
from laconic.plan import Plan
from laconic.sim.exchanges import Setting
from laconic.sim.models import ARCHITECTURES, TFLOPS
from laconic.sim.network import Network
from laconic.sim.pace import Pace, pace
from laconic.sim.step import fits
from laconic.sim.stragglers import Stragglers, parse_stragglers
from laconic.sim.timeline import chrome

Seen = tuple[str, int, Pace]  # a plan among so many workers


def main(argv: Sequence[str]) -> int:
    args = parser().parse_args(argv)
    plans = [(text, Plan() if text.strip() == "ddp" else Plan.parse(text)) for text in args.plans]
    worlds = counts(args.workers)
    network, stragglers = network_of(args), parse_stragglers(args.stragglers, args.seed or 0)
    refuse_idle(args)
    check_numbers(args)
    misfits = {world: problem for world in worlds if (problem := misfit(network, stragglers, world))}
    if len(misfits) == len(set(worlds)) or (misfits and args.train is not None):
        raise UsageError(next(iter(misfits.values())))
    if args.timeline is not None:
        check_writable(args.timeline, "--timeline")
    if args.train is not None:
        from laconic.cli.virtual import train

        return train(args, plans, worlds, network)
    model, machine = model_of(args), machine_of(args)
    rows, known = [], list[Seen]()
    for text, plan in plans:
        for world in worlds:
            setting = Setting(model, network, world, machine)
            problem, seen = misfits.get(world) or fits(plan, world), None
            if problem is None:
                try:
                    seen = pace(plan, setting, stragglers)
                except PlanError as error:  # of this model, or of so many workers: other rows can be
                    problem = str(error)
            rows.append(row(text, world, seen, problem))
            known += [(text, world, seen)] if seen is not None else []
    if args.timeline is not None:
        draw(args.timeline, known, stragglers)
    if args.json:
        print(json_text({**settings(args, model, stragglers), "rows": rows}, indent=1))
    else:
        print(heading(model, args))
        print(as_table(rows))
    return 0


def misfit(network: Network, stragglers: Stragglers, world: int) -> str | None:
    """Why so many workers are too few for what was said of some of them."""
    try:
        network.fit(world)
        stragglers.fit(world)
    except UsageError as error:
        return str(error)
    return None


def draw(path: Path, known: Sequence[Seen], stragglers: Stragglers) -> None:
    """The last that has one step which stands for all of it; says which that is."""
    if not known:
        raise UsageError("--timeline: none of these plans can run so, there is no step to draw.")
    drawn = [seen for seen in known if seen[2].step.spans]
    raced = f"'{known[-1][0]}' is raced: no step of one worker stands for those of all"
    if not drawn:
        raise UsageError(f"--timeline: {raced}. Leave it out, or name a plan that is not raced, as none.")
    text, world, seen = drawn[-1]
    write_whole(path, chrome(seen.step.spans))
    without = "" if stragglers.kind == "none" else ", without stragglers"
    why = "" if seen is known[-1][2] else f" ({raced})"
    print(f"laconic simulate: {path} shows a step of '{text}', --workers {world}{without}{why}.", file=sys.stderr)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="laconic simulate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("plans", nargs="+", metavar="PLAN", help="what to simulate, as plan text, or ddp")
    made.add_argument(
        "--model", help=f"{', '.join(ARCHITECTURES)}, or a model.json of laconic profile (default {MODEL})"
    )
    made.add_argument(
        "--train",
        metavar="TASK",
        help="digits, fashion or bytes: train it, with virtual workers",
    )
    made.add_argument("--steps", type=int, help=f"with --train: so many (default {STEPS})")
    made.add_argument("--workers", default="4", metavar="N[,N...]", help="how many (default 4)")
    made.add_argument(
        "--link", default="10gbit:50us", metavar="RATE:LATENCY", help="of every worker (default 10gbit:50us)"
    )
    made.add_argument(
        "--own", action="append", metavar="WORKER=RATE", help="another rate of that worker's line (0, 1, ...): 3=1gbit"
    )
    made.add_argument("--regions", type=int, default=1, help="so many groups of consecutive workers")
    made.add_argument("--across", metavar="RATE:LATENCY", help="between regions")
    made.add_argument("--stragglers", default="none", help="none, lognormal(0.2), exp(0.1), slow(3, 1)")
    made.add_argument("--batch", type=int, help="of one worker (built-in models)")
    made.add_argument("--compute", metavar="TIME", help="forward and backward of one worker, as in 163ms")
    made.add_argument("--tflops", type=float, help=f"what a device really reaches (default {TFLOPS:g})")
    made.add_argument("--cores", type=float, help="of each worker, shared by computing and coding (default: no limit)")
    made.add_argument("--overlap", type=float, default=1.0, help="share of a link's speed left while a worker computes")
    made.add_argument(
        "--coding", type=float, default=2.0, metavar="GB/S", help="at which codes are written and read (2)"
    )
    made.add_argument("--seed", type=int, help="of stragglers, and with --train of weights and data (default 0)")
    made.add_argument(
        "--timeline",
        type=Path,
        metavar="FILE",
        help="a step without stragglers of the last plan that has one to draw, for chrome://tracing or Perfetto",
    )
    made.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    return made


def refuse_idle(args: argparse.Namespace) -> None:
    """What was asked for, but would change nothing."""
    profiled = args.model is not None and args.model.endswith(".json")
    still = not parse_stragglers(args.stragglers).varies
    needs = (
        ("--steps", args.steps, args.train is None, "is for --train"),
        ("--seed", args.seed, args.train is None and still, "is for --stragglers that vary, or --train"),
        ("--model", args.model, args.train is not None, "has no place beside --train, which has a model"),
        ("--timeline", args.timeline, args.train is not None, "draws one step, and --train takes many"),
        ("--tflops", args.tflops, args.train is not None or profiled, "is for built-in models; others were timed"),
        ("--tflops", args.tflops, args.compute is not None, "and --compute say the same"),
    )
    for name, value, idle, why in needs:
        if value is not None and idle:
            raise UsageError(f"{name} {why}. Leave it out.")


def check_numbers(args: argparse.Namespace) -> None:
    """What is too small."""
    if args.seed is not None and args.seed < 0:
        raise UsageError(f"--seed {args.seed}: give at least 0.")
    if args.batch is not None and args.batch < 1:
        raise UsageError(f"--batch {args.batch}: give at least 1.")
    if args.tflops is not None and not 0 < args.tflops < math.inf:
        raise UsageError(f"--tflops {args.tflops:g}: give a number above 0.")
    if args.compute is not None and not parse_seconds(args.compute) > 0:
        raise UsageError(f"--compute {args.compute}: give a time above 0.")


def counts(text: str) -> list[int]:
    try:
        found = [int(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1 or max(found) > 100_000:
        raise UsageError(f"--workers {text}: write numbers from 1 to 100000, as in 4,32,1024.")
    return found

"""`laconic simulate`: how long a plan's step would take, on workers and links that need not exist.

    laconic simulate "ef(topk(0.01))" none --model bert-large --workers 4,32,1024 --link 10gbit:50us
    laconic simulate none --model model.json --workers 16 --link 1gbit:100us --stragglers "lognormal(0.2)"
    laconic simulate none --model resnet50 --workers 64 --regions 4 --across 1gbit:30ms --timeline out.json
    laconic simulate "ef(topk(0.01))" none --train digits --workers 256 --link 1gbit:100us

Speedup is over one worker on its own: workers times its step over this one. What is assumed, and how well it
predicts: docs/scale.md. PLAN is a plan's text; several may be given. `ddp` is the plan none.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from laconic.core.errors import PlanError, UsageError
from laconic.core.files import check_writable, json_text, write_whole
from laconic.core.units import bytes_text, seconds_text
from laconic.lab.rate import parse_seconds
from laconic.plan import Plan
from laconic.sim.exchanges import Setting
from laconic.sim.machine import Coding, Machine
from laconic.sim.model import ModelTable, read_model
from laconic.sim.models import ARCHITECTURES, TFLOPS, layer_table
from laconic.sim.network import Network, parse_line
from laconic.sim.pace import Pace, pace
from laconic.sim.step import fits
from laconic.sim.stragglers import parse_stragglers
from laconic.sim.timeline import chrome

MODEL, STEPS = "resnet50", 100
DECLARED = "declared"  # bytes as the compressor's own formula has them


def main(argv: Sequence[str]) -> int:
    args = parser().parse_args(argv)
    plans = [(text, Plan() if text.strip() == "ddp" else Plan.parse(text)) for text in args.plans]
    worlds = counts(args.workers)
    network = Network(parse_line(args.link), regions=args.regions, across=args.across and parse_line(args.across))
    refuse_idle(args)
    check_numbers(args)
    if args.timeline is not None:
        check_writable(args.timeline, "--timeline")
    if args.train is not None:
        from laconic.cli.virtual import train

        return train(args, plans, worlds, network)
    model, machine = model_of(args), machine_of(args)
    stragglers = parse_stragglers(args.stragglers, args.seed or 0)
    rows, last = [], None
    for text, plan in plans:
        for world in worlds:
            setting = Setting(model, network, world, machine)
            problem, seen = fits(plan, world), None
            if problem is None:
                try:
                    seen = pace(plan, setting, stragglers)
                except PlanError as error:  # of this model, or of so many workers: other rows can be
                    problem = str(error)
            rows.append(row(text, world, seen, problem))
            last = seen or last
    if args.timeline is not None:
        if last is None:
            raise UsageError("--timeline: none of these plans can run so, there is no step to draw.")
        write_whole(args.timeline, chrome(last.step.spans))
    if args.json:
        print(
            json_text({"model": model.name, "link": args.link, "stragglers": str(stragglers), "rows": rows}, indent=1)
        )
    else:
        print(heading(model, args))
        print(as_table(rows))
    return 0


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
        help="the last step that can be drawn, for chrome://tracing or Perfetto",
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


def model_of(args: argparse.Namespace) -> ModelTable:
    seconds = None if args.compute is None else parse_seconds(args.compute)
    name = args.model or MODEL
    if name.endswith(".json"):
        if args.batch is not None:
            raise UsageError("--batch is for built-in models; a profiled one has the batch it was measured with.")
        found = read_model(Path(name))
        return found if seconds is None else found.scaled(seconds)
    return layer_table(name, args.batch, seconds, args.tflops or TFLOPS)


def machine_of(args: argparse.Namespace) -> Machine:
    if not 0 < args.overlap <= 1:
        raise UsageError(f"--overlap {args.overlap:g}: give a share above 0, at most 1.")
    if not args.coding > 0 or (args.cores is not None and not args.cores > 0):
        raise UsageError("--coding and --cores must be above 0.")
    each = 4e-9 / args.coding
    machine = Machine(overlap=args.overlap, coding=Coding(each, each))
    return machine if args.cores is None else replace(machine, cores=args.cores)


def row(text: str, world: int, seen: Pace | None, problem: str | None) -> dict[str, object]:
    if seen is None:
        return {"plan": text, "workers": world, "problem": problem}
    step = seen.step
    kept = {k: v for k, v in asdict(replace(step, spans=())).items() if k not in ("spans", "seconds", "alone_s")}
    return {
        "plan": text,
        "workers": world,
        "step_s": seen.seconds,
        "alone_s": seen.alone_s,
        "speedup": world * seen.alone_s / seen.seconds,
        "exposed_s": max(0.0, seen.seconds - seen.alone_s),
        "bottleneck": step.bottleneck,
        **kept,
    }


def heading(model: ModelTable, args: argparse.Namespace) -> str:
    return (
        f"{model.name}: {model.numel / 1e6:.1f} M parameters, batch {model.batch} a worker, "
        f"{seconds_text(model.forward_s)} forward, {seconds_text(model.backward_s)} backward ({model.how}); "
        f"link {args.link}"
        + (f", {args.regions} regions, across {args.across}" if args.across else "")
        + ("" if args.stragglers == "none" else f"; stragglers {args.stragglers}")
    )


def as_table(rows: Sequence[dict[str, object]]) -> str:
    width = max(4, *(len(str(r["plan"])) for r in rows))
    names = "".join(f"  {name:>9}" for name in ("step", "speedup", "of ideal", "sent/step", "exposed"))
    head = f"{'plan':{width}}  {'workers':>7}{names}  limited by"
    return "\n".join([head, *(_line(r, width) for r in rows), *(line for r in rows for line in _notes(r))])


def _notes(r: dict[str, object]) -> list[str]:
    """What a number rests on, where it is not counted message by message."""
    notes: list[str] = list(r.get("notes", ()))  # type: ignore[call-overload]
    return [f"  {r['plan']}, {r['workers']} workers: {note}." for note in notes if note != DECLARED]


def _line(r: dict[str, object], width: int) -> str:
    start = f"{r['plan']!s:{width}}  {r['workers']:>7}"
    if "problem" in r:
        return f"{start}  {r['problem']}"
    step, speedup, sent, exposed = (float(r[k]) for k in ("step_s", "speedup", "sent_bytes", "exposed_s"))  # type: ignore[arg-type]
    world = int(r["workers"])  # type: ignore[call-overload]
    return (
        f"{start}  {seconds_text(step):>9}  {speedup:9.2f}  {speedup / world:9.0%}  {bytes_text(sent):>9}  "
        f"{seconds_text(exposed):>9}  {r['bottleneck']}"
    )

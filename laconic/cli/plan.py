"""`laconic plan`: which plan would be fastest for this model on this network, before anything is trained.

    laconic profile train.py -n 4 -o model.json
    laconic probe --hosts 4 --rate 100mbit -o network.json
    laconic plan --model model.json --network network.json --workers 4,32,1024 --lossy --why

Without --lossy only plans that compute the same mean as DDP are looked at, besides those named by --also. DDP, one
worker alone and the fastest of each class of risk always have a row. In place of files: a built-in model's name, and a
link as in 10gbit:50us. How well it predicts: docs/planner.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from laconic.cli.simulate import counts
from laconic.cli.simulate_table import DECLARED
from laconic.core.errors import UsageError
from laconic.core.files import json_text
from laconic.core.units import bytes_text, seconds_text
from laconic.plan import Plan
from laconic.planner.candidates import candidates
from laconic.planner.network_file import read_network
from laconic.planner.search import ALONE, DDP, Found, Planner, Ranking, planner_of
from laconic.planner.why import hosts_text, reasons
from laconic.sim.machine import Machine
from laconic.sim.model import ModelTable, read_model
from laconic.sim.models import ARCHITECTURES, layer_table
from laconic.sim.network import Network, parse_line

COUNTED = {DECLARED, "on meta tensors"}  # byte by byte (drive/simulate.py)


def main(argv: Sequence[str]) -> int:
    args = parser().parse_args(argv)
    if args.top < 1:
        raise UsageError(f"--top {args.top}: give at least 1.")
    worlds, also = counts(args.workers), [text.strip() for text in args.also or ()]
    for text in also:
        if text != DDP:
            Plan.parse(text)  # a typo is told before anything is predicted
    planner = planner_from(args.model, args.network)
    _check_probed(planner, args.network, max(worlds))
    texts, out = candidates(lossy=args.lossy, servers=True, long=True), []
    for world in worlds:
        ranking = planner.rank(world, texts, also)
        rows = shown(ranking, args.top, also)
        why = reasons(planner, ranking, rows)
        out.append(
            {
                "workers": world,
                "plans": [as_row(f, ranking) for f in rows],
                "left_out": [asdict(left) for left in ranking.left_out],
                "why": why,
            }
        )
        if not args.json:
            print(f"{world} worker{'' if world == 1 else 's'}\n{as_table(rows, ranking)}")
            if args.why:
                print("\n".join(f"  {line}" for line in [*why, *noted(rows)]))
            print()
    if args.json:
        print(json_text(out, indent=1))
    return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="laconic plan", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ", ".join(ARCHITECTURES)
    made.add_argument("--model", required=True, help=f"a model.json of laconic profile, or {names}")
    made.add_argument("--network", required=True, help="a network.json of laconic probe, or a link as in 10gbit:50us")
    made.add_argument("--workers", default="4", metavar="N[,N...]", help="how many (default 4)")
    which = made.add_mutually_exclusive_group()
    which.add_argument("--lossless", dest="lossy", action="store_false", help="only what computes DDP's mean (default)")
    which.add_argument("--lossy", action="store_true", help="also what rounds, compresses or lets models differ")
    made.add_argument("--also", action="append", metavar="PLAN", help="another plan, always shown; may be repeated")
    made.add_argument("--top", type=int, default=10, help="so many rows, and what is always shown (default 10)")
    made.add_argument("--why", action="store_true", help="the reasons, in sentences")
    made.add_argument("--json", action="store_true", help="one JSON array instead of tables")
    made.set_defaults(lossy=False)
    return made


def planner_from(model: str, network: str) -> Planner:
    table: ModelTable = read_model(Path(model)) if model.endswith(".json") else layer_table(model)
    if network.endswith(".json"):
        return planner_of(table, read_network(Path(network)))
    return Planner(table, Network(parse_line(network)), Machine())


def _check_probed(planner: Planner, network: str, world: int) -> None:
    """A rank that was probed alone has talked to nobody: every byte would be free."""
    if planner.table is not None and planner.table.world == 1 and world > 1:
        raise UsageError(
            f"{network} was probed with one rank, which talks to nobody: it says nothing about {world} workers. Probe "
            f"at least two: laconic probe -n 2."
        )


def shown(ranking: Ranking, top: int, also: Sequence[str]) -> list[Found]:
    """The first ones, and whatever else is always shown: the fastest of each class of risk, DDP, one worker alone, what
    was asked for by name."""
    fastest = {f.risk: f.text for f in reversed(ranking.found) if f.distributes}
    always = {DDP, ALONE, *also, *fastest.values()}
    return [f for place, f in enumerate(ranking.found) if place < top or f.text in always]


def noted(rows: Sequence[Found]) -> list[str]:
    """What predictions rest on, besides messages that are counted."""
    telling = [(f.text, [note for note in f.step.notes if not set(note.split(", ")) <= COUNTED]) for f in rows]
    return [f"{text}: {'; '.join(notes)}." for text, notes in telling if notes]


def as_row(f: Found, ranking: Ranking) -> dict[str, object]:
    return {
        "plan": f.text,
        "distributed": f.distributes,
        "risk": f.risk.value,
        "step_s": f.step.seconds,
        "speedup": f.speedup,
        "x_ddp": f.speedup / ranking.ddp.speedup,
        "sent_bytes": f.step.sent_bytes,
        "exposed_s": f.step.exposed_s,
        "limited_by": f.step.bottleneck,
        "more_hosts": f.more_hosts,
        "how": list(f.step.notes),
    }


def as_table(rows: Sequence[Found], ranking: Ranking) -> str:
    width = max(len(text) for text in (*(f.text for f in rows), *(left.text for left in ranking.left_out)))
    names = "".join(f"  {name:>9}" for name in ("step", "x DDP", "speedup", "sent/step", "exposed"))
    lines = [f"{'plan':{width}}{names}  {'risk':9}  limited by"]
    lines += [
        f"{f.text:{width}}  {seconds_text(f.step.seconds):>9}  {f.speedup / ranking.ddp.speedup:9.2f}  "
        f"{f.speedup:9.2f}  {bytes_text(f.step.sent_bytes):>9}  {seconds_text(f.step.exposed_s):>9}  "
        f"{f.risk.value:9}  {f.step.bottleneck}{f'; {hosts_text(f.more_hosts)}' if f.more_hosts else ''}"
        for f in rows
    ]
    lines += [f"{left.text:{width}}  left out: {left.why}" for left in ranking.left_out]
    return "\n".join(lines)

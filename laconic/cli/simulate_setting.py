"""Where `laconic simulate` plays its plans: the model, the machine and the network that its options describe."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from laconic.core.errors import UsageError
from laconic.core.units import seconds_text
from laconic.lab.rate import parse_seconds
from laconic.sim.machine import Coding, Machine
from laconic.sim.model import ModelTable, read_model
from laconic.sim.models import TFLOPS, layer_table
from laconic.sim.network import Network, parse_line, parse_own
from laconic.sim.stragglers import Stragglers

MODEL, STEPS = "resnet50", 100


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


def network_of(args: argparse.Namespace) -> Network:
    line = parse_line(args.link)
    across = args.across and parse_line(args.across)
    return Network(line, parse_own(args.own or (), line), args.regions, across)


def settings(args: argparse.Namespace, model: ModelTable, stragglers: Stragglers) -> dict[str, object]:
    """Whatever numbers depend on, by the names of options; what has no place in this simulation is None."""
    return {
        "model": None if args.train else model.name,
        "task": args.train,
        "steps": (STEPS if args.steps is None else args.steps) if args.train else None,
        "parameters": model.numel,
        "batch": model.batch,
        "compute_s": model.forward_s + model.backward_s,
        "link": args.link,
        "own": list(args.own or ()),
        "regions": args.regions,
        "across": args.across,
        "overlap": args.overlap,
        "cores": args.cores,
        "coding": args.coding,
        "stragglers": str(stragglers),
        "seed": args.seed or 0,
    }


def heading(model: ModelTable, args: argparse.Namespace) -> str:
    return (
        f"{model.name}: {model.numel / 1e6:.1f} M parameters, batch {model.batch} a worker, "
        f"{seconds_text(model.forward_s)} forward, {seconds_text(model.backward_s)} backward ({model.how}); "
        f"link {args.link}"
        + (f", {' '.join(args.own)}" if args.own else "")
        + (f", {args.regions} regions, across {args.across}" if args.across else "")
        + ("" if args.stragglers == "none" else f"; stragglers {args.stragglers}")
    )

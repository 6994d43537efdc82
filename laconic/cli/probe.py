"""`laconic probe`: how fast these ranks can talk, and what coding costs them, into network.json.

    laconic probe --hosts 4 --rate 100mbit -o network.json        emulated hosts
    laconic probe -n 4 -o network.json                            processes of this machine
    torchrun ... -m laconic.planner.probing /tmp/raw.json         on machines of your own; then on one of them,
    laconic probe --raw /tmp/raw.json -o network.json             as compressors are timed where this runs

Measured: all-reduce, all-gather, all-to-all and a swap with a neighbour at several sizes, every pair of up to 8 ranks,
what a byte and a message cost a core, memory, and how fast each compressor of the planner's list writes and reads. A
pair that is much slower than most is named.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from laconic.cli.lab_options import add_lab_options, given, lab_spec
from laconic.cli.lab_options import sites as hosts_of
from laconic.cli.machine import cores
from laconic.cli.signals import ending_on_signals
from laconic.core.errors import LaconicError, UsageError
from laconic.core.files import check_writable
from laconic.core.numbers import amount, listed, object_of, reason
from laconic.core.units import bytes_text, seconds_text
from laconic.lab.enter import enter, inside
from laconic.launch.job import Job, Script, Site, local_sites
from laconic.plan import Plan
from laconic.planner.candidates import compressors
from laconic.planner.coding import coding_of
from laconic.planner.network_file import NetworkTable, fit_line, from_dict, slow_pairs
from laconic.planner.tiny import explained
from laconic.sim.machine import Coding

LIMIT_S = 600.0
WORLD = 4


def main(argv: Sequence[str]) -> int:
    args = parser().parse_args(argv)
    _check_where(args)
    check_writable(args.output, "-o")
    spec = lab_spec(args)
    if spec is not None and not inside():
        return enter(["probe", *argv], spec)
    if args.raw is not None:
        raw = _read(args.raw)
        _check_raw(raw, args.raw)
    else:
        places = contextlib.nullcontext(local_sites(args.n or WORLD)) if args.hosts is None else hosts_of(args)
        with ending_on_signals(), places as sites:
            raw = measure(sites)
    table = finished(raw, "" if spec is None else args.rate or "", codings=codings(quick=args.quick))
    table.write(args.output)
    print(as_text(table))
    return 0


def _check_where(args: argparse.Namespace) -> None:
    """One of three places, at most."""
    places = [
        f"--{name}" if len(name) > 1 else "-n" for name in ("raw", "hosts", "n") if getattr(args, name) is not None
    ]
    if len(places) > 1:
        raise UsageError(
            f"{places[0]} and {places[1]} were both given, but ranks are probed in one place. Leave one out."
        )
    if args.raw is not None and (words := given(args)):
        raise UsageError(f"{words[0]} says how emulated hosts are, but --raw {args.raw} was measured elsewhere.")
    if args.n is not None and args.n < 1:
        raise UsageError(f"-n {args.n}: give at least 1 process.")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="laconic probe", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("-n", type=int, metavar="N", help=f"processes over loopback (default {WORLD})")
    made.add_argument("-o", "--output", type=Path, default=Path("network.json"), help="where to (default network.json)")
    made.add_argument("--raw", type=Path, help="what laconic.planner.probing wrote, in place of measuring now")
    made.add_argument("--quick", action="store_true", help="do not time compressors; planning takes nominal rates then")
    add_lab_options(made)
    return made


def measure(sites: Sequence[Site], env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What rank 0 wrote. Cores are those of this process: in a lab a rank may be tied to one of them."""
    with tempfile.TemporaryDirectory(prefix="laconic-probe-") as folder:
        out, log = Path(folder) / "raw.json", Path(folder) / "log.txt"
        script = Script("laconic.planner.probing", is_module=True, args=(str(out),))
        with Job(script, sites, env=env, output=log) as job:
            code = job.wait(LIMIT_S)
        if code != 0:
            words = log.read_text(errors="replace").strip().splitlines()[-12:]
            raise LaconicError("\n".join([f"Probing {'failed' if code else 'took too long'}:", *words]))
        return {**_read(out), "cores": cores()}


def _read(path: Path) -> dict[str, Any]:
    try:
        return object_of(json.loads(path.read_text()), "what it holds")
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not what laconic.planner.probing writes: {error}.") from error


def _check_raw(raw: Mapping[str, Any], path: Path) -> None:
    """Before compressors are timed, which takes a while."""
    try:
        finished(raw, "", {})
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is not what laconic.planner.probing writes: {reason(error)}.") from error


def codings(*, quick: bool = False) -> dict[str, Coding]:
    """Of every compressor that the planner would think of."""
    texts = [] if quick else compressors()
    return {str(Plan.parse(text).compress): coding_of(Plan.parse(text).compress) for text in texts}


def finished(raw: Mapping[str, Any], rate: str, codings: Mapping[str, Coding]) -> NetworkTable:
    whole = {"cores": cores(), **raw, "rate": rate, "line": {"alpha_s": 0.0, "beta_s": 0.0}, "codings": {}}
    tiny = {plan: _pair(s, f"tiny.{plan}") for plan, s in object_of(whole.pop("tiny", {}), "tiny").items()}
    table = from_dict(whole)
    line = fit_line(table.curves["reduce"], table.world) if table.curves else table.line
    table = replace(table, line=line, codings=codings)
    return explained(table, tiny) if tiny else table


def _pair(value: Any, name: str) -> tuple[float, float]:
    found = [amount(x, name) for x in listed(value, name)]
    if len(found) != 2:
        raise ValueError(f"{name} holds {value!r}, not seconds of a step and on a core")
    return found[0], found[1]


def as_text(table: NetworkTable) -> str:
    lines = [
        f"{table.world} ranks on {table.machines} machine(s) with {table.cores} cores each; line {table.line}.",
        f"A byte of gradient costs a core {table.touch_s * 1e9:.2f} ns; a plain copy: {table.memory_gb_s:.1f} GB/s.",
    ]
    for name, curve in table.curves.items():
        seen = ", ".join(f"{bytes_text(s)} {seconds_text(t)}" for s, t in zip(curve.sizes, curve.seconds, strict=True))
        lines.append(f"{name:8} {seen}")
    lines += [
        f"{text:32} encode {c.encode_s * 1e9:6.2f} ns, decode {c.decode_s * 1e9:6.2f} ns an element"
        for text, c in table.codings.items()
    ]
    lines += slow_pairs(table)
    return "\n".join(lines)

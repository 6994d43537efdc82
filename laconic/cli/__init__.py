"""The `laconic` command: one verb a file, each imported only when it is asked for."""

from __future__ import annotations

import argparse
import difflib
import importlib
import importlib.metadata
import os
import sys
from collections.abc import Sequence

from laconic.core.errors import LaconicError, UsageError

# Beware: once `laconic.cli.list` is imported, the name `list` in this file is that module.
VERBS = {
    "run": "launch a training script: torchrun plus --plan, or emulated hosts with --hosts and --rate",
    "compare": "train with several plans and with DDP, side by side, and say who wins",
    "demo": "two small tasks on emulated hosts: DDP against three plans, in about two minutes",
    "serve": "one parameter server, for workers here or on other machines",
    "keygen": "make a key that admits to a job over several machines",
    "lab": "a shell in an emulated host, or a check of what the lab measures",
    "plan": "which plan would be fastest for this model on this network",
    "probe": "measure the network between ranks, and what coding costs them, into network.json",
    "profile": "measure what a step of a script computes, layer by layer, into model.json",
    "simulate": "how long a step would take with a plan, on any number of workers and any link",
    "bench": "how fast compressors are on this machine, and on which links they pay off",
    "list": "show every algorithm a plan can name",
    "cite": "print BibTeX of the papers behind a plan",
    "doctor": "check what works on this machine and say what to install",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb. Returns the exit code: 0 good, 1 the run failed, 2 the request was wrong."""
    parser = _parser()
    args = parser.parse_args(argv)
    if args.version:
        print(f"laconic {importlib.metadata.version('laconic')}")
        return 0
    if args.verb is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        return _dispatch(args.verb, args.rest)
    except LaconicError as error:
        print(f"laconic: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `laconic list | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {name:{width}}  {summary}" for name, summary in VERBS.items())
    parser = argparse.ArgumentParser(
        prog="laconic",
        usage="laconic VERB [options]",
        description="Data-parallel PyTorch training that says less over the network.",
        epilog=f"verbs:\n{verbs}\n\nlaconic VERB --help explains one.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("verb", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def _dispatch(verb: str, rest: Sequence[str]) -> int:
    if verb not in VERBS:
        near = difflib.get_close_matches(verb, VERBS, n=1)
        guess = f" Did you mean '{near[0]}'?" if near else ""
        raise UsageError(f"there is no verb '{verb}'.{guess} Verbs: {', '.join(VERBS)}.")
    code: int = importlib.import_module(f"laconic.cli.{verb}").main(rest)
    return code

"""`laconic run --hosts N`: one rank (or -n of them) on each emulated host, or over loopback with --no-lab."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from laconic.cli.lab_options import lab_spec, sites
from laconic.cli.servers import server_processes
from laconic.cli.signals import ending_on_signals
from laconic.cli.traced import traced
from laconic.lab.enter import enter, inside
from laconic.launch.job import Job, Script


def on_hosts(args: argparse.Namespace, env: Mapping[str, str], argv: Sequence[str]) -> int:
    """The exit code of the first rank that failed, or 0. `argv` is what `laconic run` was given."""
    spec = lab_spec(args)
    if spec is not None and not inside():
        return enter(["run", *argv], spec)
    script = Script(args.training_script, is_module=args.module, args=tuple(args.training_script_args))
    per_site = int(args.nproc_per_node)
    with (
        ending_on_signals(),
        traced(args.trace),
        sites(args) as places,
        server_processes(args.servers or 0, env, places) as where,
        Job(script, places, per_site=per_site, env={**env, **(where if args.servers else {})}) as job,
    ):
        while (code := job.wait(60.0)) is None:
            pass
    if job.failures:
        first, *others = job.failures
        also = f" Failed too: {', '.join(f'rank {other.rank}' for other in others)}." if others else ""
        print(f"laconic run: {first}; what it said stands above.{also}", file=sys.stderr)
    return code

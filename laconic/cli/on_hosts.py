"""`laconic run --hosts N`: one rank (or -n of them) on each emulated host, or over loopback with --no-lab."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from laconic.cli.auto import Trial, choose, is_auto
from laconic.cli.lab_options import lab_spec, sites
from laconic.cli.servers import server_processes
from laconic.cli.signals import ending_on_signals
from laconic.cli.traced import traced
from laconic.core.errors import UsageError
from laconic.lab.enter import enter, inside
from laconic.launch.job import Job, Script, Site


def on_hosts(args: argparse.Namespace, env: Mapping[str, str], argv: Sequence[str]) -> int:
    """The exit code of the first rank that failed, or 0. `argv` is what `laconic run` was given."""
    spec = lab_spec(args)
    if spec is not None and not inside():
        return enter(["run", *argv], spec)
    script = Script(args.training_script, is_module=args.module, args=tuple(args.training_script_args))
    per_site = int(args.nproc_per_node)
    with ending_on_signals(), sites(args) as places:
        env = _settled(args, env, script, places, per_site)
        return _run(args, env, script, places, per_site)


def _settled(
    args: argparse.Namespace, env: Mapping[str, str], script: Script, places: Sequence[Site], per_site: int
) -> Mapping[str, str]:
    """With the plan that `auto` chose, where it was asked for."""
    if not is_auto(args.plan):
        return env
    if per_site > 1:
        raise UsageError("--plan auto with several ranks on a host is not supported. Leave -n out, or name a plan.")
    return {**env, "LACONIC_PLAN": choose(args.plan, Trial(lambda _: script, env=env), places)}


def _run(
    args: argparse.Namespace, env: Mapping[str, str], script: Script, places: Sequence[Site], per_site: int
) -> int:
    with (
        traced(args.trace),
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

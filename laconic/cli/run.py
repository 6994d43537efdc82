"""`laconic run`: torchrun, plus --plan, --timeout, --debug and --trace, or emulated hosts with --hosts and --rate.

The parser is torchrun's own, so every torchrun option works, also on several machines. A plan is
read before any process starts: a typo costs a second, not a rendezvous.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from torch.distributed import DistNetworkError, DistStoreError
from torch.distributed import run as torchrun
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.elastic.rendezvous import RendezvousError

from laconic import baseline
from laconic.cli.auto import Trial, choose, is_auto, refuse_elsewhere, script_of
from laconic.cli.lab_options import OPTIONS, add_lab_options, lab_spec
from laconic.cli.machine import cores
from laconic.cli.on_hosts import on_hosts
from laconic.cli.servers import check_count, job_key, server_processes
from laconic.cli.traced import traced
from laconic.compare.workload import TASKS
from laconic.core.errors import UsageError
from laconic.lab.enter import inside
from laconic.launch.job import local_sites
from laconic.plan import Plan, check_text
from laconic.session import DEFAULT_TIMEOUT_S

KNOWN_WITH_HOSTS = {
    *("plan", "timeout", "debug", "trace", "nproc_per_node", "module", "training_script", "training_script_args"),
    *("hosts", "no_lab", *OPTIONS, "servers", "key", "insecure"),
}


_ONE_MACHINE = ("1", "1:1")


def main(argv: Sequence[str]) -> int:
    """Launch the script and wait for it; 1 if any rank failed."""
    args = resolve(parser().parse_args(argv), os.environ)
    new = environment(args, os.environ)
    if not inside():
        _say_promises(args.plan)
    if args.hosts is not None:
        return on_hosts(args, new, argv)
    os.environ.update(new)
    if is_auto(args.plan):
        os.environ["LACONIC_PLAN"] = choose(args.plan, _trial(args), local_sites(int(args.nproc_per_node)))
    with traced(args.trace), server_processes(args.servers or 0, new) as where:
        os.environ.update(where if args.servers else {})
        return _torchrun(args)


def _say_promises(text: str | None) -> None:
    """What the plan promises, before anything starts."""
    if text is not None and not is_auto(text) and baseline.parse(text) is None:
        print(f"{text}\n{Plan.parse(text).promises}", file=sys.stderr, flush=True)


def _torchrun(args: argparse.Namespace) -> int:
    try:
        torchrun.run(args)
    except ChildFailedError as error:
        return _failed(failure_text(error))
    except SignalException as error:
        return 128 + int(error.sigval)
    except (RendezvousError, DistNetworkError, DistStoreError) as error:
        return _failed(
            f"not all machines met within {args.timeout:g} s ({_first_line(error)}). "
            "Start the same command on every machine, or raise --timeout."
        )
    return 0


def parser() -> argparse.ArgumentParser:
    """Torchrun's parser with our options in front."""
    parser = torchrun.get_args_parser()
    parser.prog = "laconic run"
    parser.usage = (
        "laconic run [torchrun options | --hosts N --rate RATE] [--plan TEXT] script.py|-m module [arguments]"
    )
    parser.description = __doc__
    own = parser.add_argument_group("laconic")
    own.add_argument("--plan", metavar="TEXT", help="when, with whom and what ranks say; or auto")
    own.add_argument("--timeout", type=float, metavar="SECONDS", help="how long a rank waits (default 300)")
    own.add_argument("--debug", action="store_true", help="cross-check what ranks send")
    own.add_argument("--trace", type=Path, metavar="OUT", help="write what every rank did when, for ui.perfetto.dev")
    own.add_argument("--servers", type=int, metavar="N", help="parameter server processes on this machine")
    own.add_argument("--key", type=Path, metavar="FILE", help="the job's key, over several machines (laconic keygen)")
    own.add_argument("--insecure", action="store_true", help="no key: parameter servers talk in plain text")
    own.add_argument("-n", dest="nproc_per_node", metavar="N", help="same as --nproc-per-node")
    add_lab_options(parser)
    if "PET_NPROC_PER_NODE" not in os.environ:  # torchrun's own variable for this option
        parser.set_defaults(nproc_per_node="auto")
    return parser


def resolve(args: argparse.Namespace, env: Mapping[str, str]) -> argparse.Namespace:
    """Fill in what the user left open and refuse what cannot work."""
    if not (args.module or args.no_python) and not Path(args.training_script).is_file():
        raise UsageError(f"there is no script '{args.training_script}'.{_task_hint(args.training_script)}")
    plan = args.plan if args.plan is not None else env.get("LACONIC_PLAN")
    args.plan = None if plan is None else plan if is_auto(plan) else check_text(plan)
    if is_auto(args.plan):
        refuse_elsewhere(args.hosts is not None or _is_alone(args) or args.standalone)
        _refuse_beside_auto(args)
    check_count(args.servers, None if is_auto(args.plan) else args.plan)
    if args.servers and args.nnodes not in _ONE_MACHINE:
        raise UsageError(
            f"--servers {args.servers} starts servers that only this machine's ranks would find, but there are "
            f"--nnodes {args.nnodes}. Start `laconic serve --host ADDRESS --key FILE` and give its address to all "
            f"ranks in LACONIC_SERVERS."
        )
    args.timeout = _timeout_s(args.timeout, env)
    lab_spec(args)  # refuses what makes no sense
    if args.hosts is not None:
        return _resolve_hosts(args)
    args.nproc_per_node = str(_processes(args.nproc_per_node))
    args.standalone = args.standalone or _is_alone(args)
    key = "timeout" if args.rdzv_backend == "static" else "join_timeout"
    limits = [f"{key}={math.ceil(args.timeout)}", args.rdzv_conf]
    args.rdzv_conf = ",".join(filter(None, limits))  # what the user wrote comes last and wins
    return args


def _refuse_beside_auto(args: argparse.Namespace) -> None:
    if args.servers:
        raise UsageError(
            f"--servers {args.servers} beside --plan auto would have nothing to do: auto looks at plans that need no "
            f"hosts besides the workers'. Leave it out, or name a plan with ps."
        )
    if args.no_python:
        raise UsageError(
            f"--plan auto starts the script by itself, as Python, which --no-python {args.training_script} is not. "
            f"Name a plan."
        )


def _task_hint(name: str) -> str:
    return f" The built-in task is started by `-m laconic.tasks.{name}`." if name in TASKS else ""


def _resolve_hosts(args: argparse.Namespace) -> argparse.Namespace:
    """One rank a host unless told otherwise; what only torchrun can do is refused."""
    usual = vars(parser().parse_args(["script.py"]))
    for option, value in vars(args).items():
        if option not in KNOWN_WITH_HOSTS and value != usual[option]:
            raise UsageError(
                f"--{option.replace('_', '-')} is torchrun's and has no meaning with --hosts; leave it out."
            )
    args.nproc_per_node = "1" if args.nproc_per_node == "auto" else str(_processes(args.nproc_per_node))
    return args


def environment(args: argparse.Namespace, env: Mapping[str, str]) -> dict[str, str]:
    """The variables every rank inherits."""
    new = {"LACONIC_TIMEOUT": f"{args.timeout:g}"}
    if args.plan is not None:
        new["LACONIC_PLAN"] = args.plan
    if args.servers or args.key or args.insecure or args.hosts is not None or _is_alone(args) or args.standalone:
        new |= job_key(args.key, env, insecure=args.insecure)
    if args.debug:
        new["LACONIC_DEBUG"] = "1"
    if args.trace is not None:
        new["LACONIC_TRACE"] = str(args.trace.absolute())
    if "OMP_NUM_THREADS" not in env:
        ranks = int(args.nproc_per_node) * (args.hosts or 1)
        new["OMP_NUM_THREADS"] = str(max(1, cores() // ranks))
    return new


def _trial(args: argparse.Namespace) -> Trial:
    return Trial(script_of(args.training_script, is_module=args.module, args=args.training_script_args))


def failure_text(error: ChildFailedError) -> str:
    """Which rank ended first and how; SIGTERM is how the launcher ends the others after it."""
    failures = error.failures
    own = {rank: f for rank, f in failures.items() if f.exitcode != -signal.SIGTERM} or failures
    rank = min(own, key=lambda rank: own[rank].timestamp)
    failure = own[rank]
    how = (
        f"was killed by {failure.signal_name()}" if failure.exitcode < 0 else f"ended with exit code {failure.exitcode}"
    )
    others = sorted(set(own) - {rank})
    also = f" Failed too: {', '.join(f'rank {other}' for other in others)}." if others else ""
    return f"rank {rank} (pid {failure.pid}) {how}; what it said stands above.{also}"


def _timeout_s(given: float | None, env: Mapping[str, str]) -> float:
    text = env.get("LACONIC_TIMEOUT")
    try:
        seconds = given if given is not None else float(text or DEFAULT_TIMEOUT_S)
    except ValueError:
        raise UsageError(f"LACONIC_TIMEOUT is '{text}', not a number of seconds.") from None
    if not (0 < seconds < math.inf):
        raise UsageError(f"the timeout is {seconds:g} s; give a number above 0.")
    return seconds


def _processes(text: str) -> int:
    try:
        count = int(torchrun.determine_local_world_size(text))
    except ValueError:
        count = 0
    if count < 1:
        raise UsageError(f"cannot start '{text}' processes. Give a number above 0, 'cpu', 'gpu' or 'auto'.")
    return count


def _is_alone(args: argparse.Namespace) -> bool:
    """Nothing asks for another machine, so torchrun may pick a free port by itself."""
    return (
        args.nnodes in _ONE_MACHINE
        and args.rdzv_backend == "static"
        and not args.rdzv_endpoint
        and args.master_port is None
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _failed(text: str) -> int:
    print(f"laconic run: {text}", file=sys.stderr)
    return 1

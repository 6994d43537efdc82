"""Server processes for `laconic run --servers N`: started before the ranks, ended after them, never left behind."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from laconic import baseline
from laconic.core.errors import UsageError
from laconic.launch.job import Site
from laconic.launch.linux import enter_network
from laconic.net.auth import Keys, read_keys
from laconic.plan import Plan
from laconic.topology import ParameterServer

_PATIENCE_S = 10.0


def job_key(path: Path | None, env: Mapping[str, str], *, insecure: bool) -> dict[str, str]:
    """Variables that let a job's processes trust each other: the user's key, or one made for this run."""
    if insecure and path is not None:
        raise UsageError(f"--insecure means no key, but --key {path} gives one. Leave one of them out.")
    if insecure:  # what is typed counts more than a key in the environment
        return {"LACONIC_INSECURE": "1", "LACONIC_KEY": "", "LACONIC_KEY_FILE": ""}
    if path is not None:
        return {"LACONIC_KEY": read_keys(path).text()}
    given = (
        "LACONIC_KEY",
        "LACONIC_KEY_FILE",
        "LACONIC_INSECURE",
        "LACONIC_SERVERS",
    )  # whose servers have a key, or none
    return {} if any(env.get(name) for name in given) else {"LACONIC_KEY": Keys.make().text()}


def check_count(servers: int | None, plan: str | None) -> None:
    """Refuses a number that does not fit the plan, before anything starts."""
    if servers is None:
        return
    if servers < 1:
        raise UsageError(f"--servers {servers}: start at least one, or leave it out.")
    topology = Plan.parse(plan).topology if plan is not None and baseline.parse(plan) is None else None
    if plan is not None and not isinstance(topology, ParameterServer):
        raise UsageError(
            f"--servers {servers}: the plan '{plan}' uses no servers. Say for example ps(servers={servers})."
        )
    if isinstance(topology, ParameterServer) and (topology.layout == "colocated" or topology.count(1) != servers):
        raise UsageError(f"--servers {servers} does not fit {topology}. Say ps(servers={servers}).")


@contextlib.contextmanager
def server_processes(
    count: int, env: Mapping[str, str], sites: Sequence[Site] | None = None
) -> Iterator[dict[str, str]]:
    """Starts them, on the hosts of a lab in rank order, or on loopback; yields where they are, for the ranks."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        for s in range(count):  # one by one: those that started are ended even if the next cannot
            process = _start(env, sites[s % len(sites)] if sites else None)
            started.append(process)
        addresses = [_address(process) for process in started]
        yield {"LACONIC_SERVERS": ",".join(addresses)}
    finally:
        for process in started:
            assert process.stdin is not None, "a pipe"
            process.stdin.close()
        for process in started:
            _end(process)


def _start(env: Mapping[str, str], site: Site | None) -> subprocess.Popen[bytes]:
    host = site.address if site else "127.0.0.1"
    command = [sys.executable, "-m", "laconic.cli", "serve", "--host", host, "--until-eof"]
    if env.get("LACONIC_INSECURE"):
        command.append("--insecure")
    netns = site.netns if site else None
    return subprocess.Popen(
        command,
        env={**os.environ, **env, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=(lambda: enter_network(netns)) if netns is not None else None,  # noqa: PLW1509  (no threads yet)
        start_new_session=True,  # Ctrl-C is for the ranks; the end of the pipe ends servers
    )


def _address(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None, "a pipe"
    line = process.stdout.readline().decode().strip()
    if not line.startswith("tcp://"):
        raise UsageError("a parameter server could not start; what it said stands above.")
    return line


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    assert process.stdout is not None, "a pipe"
    process.stdout.close()

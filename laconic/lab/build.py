"""Build the hosts of a lab: inside the namespaces `enter` made, and nowhere else.

    host0: eth0 ---- port0 \\
    host1: eth0 ---- port1 --- switch (a bridge)
    host2: eth0 ---- port2 /

Each host is a network namespace with one link to the switch. The token bucket on its `eth0` is the host's way up,
that on its `port` the way down, so many senders to one host share that host's link, as on a real switch. Hosts
reach each other by address (10.77.0.1 is host 0) and by name (`host0`), and nobody else: there is no way out of a
lab.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from laconic.core.errors import UsageError
from laconic.lab.cores import share_out
from laconic.lab.enter import LabError, inside, require
from laconic.lab.shape import Shape
from laconic.lab.spec import LabSpec
from laconic.lab.support import tool
from laconic.launch.job import Site
from laconic.launch.linux import bind_mount

INTERFACE = "eth0"
SWITCH = "switch"
SUBNET = "10.77.0.0/24"
CONGESTION = "reno"  # every kernel has it; BBR, some machines' default, would set a timer more for every piece
NETNS_FOLDER = Path("/var/run/netns").resolve()
HOSTS_FILE = Path("/etc/hosts")
NETEM_QUEUE = 100_000  # packets; its default of 1000 would drop in a long fat pipe


@dataclass(frozen=True)
class Lab:
    spec: LabSpec

    def sites(self) -> list[Site]:
        cores = share_out(sorted(os.sched_getaffinity(0)), self.spec)
        return [
            Site(address(host), INTERFACE, str(NETNS_FOLDER / name(host)), self.spec.share_of(host), cores[host])
            for host in range(self.spec.hosts)
        ]


def name(host: int) -> str:
    return f"host{host}"


def address(host: int) -> str:
    return f"10.77.0.{host + 1}"


@contextlib.contextmanager
def build(spec: LabSpec) -> Iterator[Lab]:
    """Hosts, links and rates as `spec` says; all gone after the `with`."""
    if not inside():
        raise UsageError("A lab is built inside fresh namespaces only: call laconic.lab.enter.enter first.")
    require(spec)
    try:
        _batch("ip", _network(spec))
        for host in range(spec.hosts):
            _batch("ip", _host(host, spec), host)
            _batch("tc", _up(host, spec), host)
        _batch("tc", [line for host in range(spec.hosts) for line in _down(host, spec)])
        with _names(spec):
            yield Lab(spec)
    finally:
        _tear_down(spec)


def _network(spec: LabSpec) -> list[str]:
    lines = ["link set lo up", f"link add {SWITCH} type bridge", f"link set {SWITCH} addrgenmode none up"]
    for host in range(spec.hosts):
        port = f"port{host}"
        lines += [
            f"netns add {name(host)}",
            f"link add {port} type veth peer name {INTERFACE} netns {name(host)}",
            f"link set {port} addrgenmode none {_gso(spec.down_of(host))} master {SWITCH} up",
        ]
    return lines


def _host(host: int, spec: LabSpec) -> list[str]:
    pieces = "gso_max_segs 1" if spec.needs_netem else _gso(spec.up_of(host))  # a loss is one packet, not 64 KB of them
    return [
        "link set lo up",
        f"link set {INTERFACE} addrgenmode none {pieces} up",
        f"addr add {address(host)}/24 dev {INTERFACE}",
        f"route change {SUBNET} dev {INTERFACE} proto kernel scope link src {address(host)} congctl {CONGESTION}",
    ]


def _gso(rate: int | None) -> str:
    return "" if rate is None else f"gso_max_size {Shape(rate).gso_bytes}"


def _up(host: int, spec: LabSpec) -> list[str]:
    """Delay and loss stand before the bucket of the way up, so a packet meets them once."""
    rate, lines, parent = spec.up_of(host), [], "root"
    if spec.needs_netem:
        words = f"delay {spec.delay_s * 1e6:.0f}us {spec.jitter_s * 1e6:.0f}us loss {spec.loss * 100:g}%"
        lines.append(f"qdisc add dev {INTERFACE} root handle 1: netem {words} limit {NETEM_QUEUE}")
        parent = "parent 1:1"
    if rate is not None:
        lines.append(f"qdisc add dev {INTERFACE} {parent} handle 10: {Shape(rate).words()}")
    return lines


def _down(host: int, spec: LabSpec) -> list[str]:
    rate = spec.down_of(host)
    if rate is None:
        return []
    words = Shape(rate).loose_words() if spec.senders_are_held_to(rate, host) else Shape(rate).words()
    return [f"qdisc add dev port{host} root handle 10: {words}"]


@contextlib.contextmanager
def _names(spec: LabSpec) -> Iterator[None]:
    """`host0` in place of an address, by an /etc/hosts of our own; a machine without that file does without names."""
    if not HOSTS_FILE.is_file():
        yield
        return
    own = NETNS_FOLDER / "hosts"
    lines = [f"{address(host)} {name(host)}" for host in range(spec.hosts)]
    # torch's store listens on IPv6 and asks who came from there; without an answer it warns
    lines += [f"::ffff:{address(host)} {name(host)}.lab" for host in range(spec.hosts)]
    own.write_text("\n".join([HOSTS_FILE.read_text(), *lines, ""]))
    with bind_mount(own, HOSTS_FILE):
        own.unlink()  # the mount keeps it, and `ip netns list` should not show it
        yield


def _tear_down(spec: LabSpec) -> None:
    """For the next lab in the same namespaces; when the process ends, the kernel does it.

    Links go by name: a network whose last process is still ending would keep its own for a while.
    """
    hosts = range(spec.hosts)
    lines = [f"link del {SWITCH}", *(f"link del port{host}" for host in hosts)]
    lines += [f"netns del {name(host)}" for host in hosts]
    subprocess.run(
        [tool("ip") or "ip", "-force", "-batch", "-"],
        input="\n".join(lines) + "\n",
        text=True,
        capture_output=True,
        check=False,
    )


def _batch(command: str, lines: Sequence[str], host: int | None = None) -> None:
    """Many lines for one `ip` or `tc`, inside `host` if one is named."""
    if not lines:
        return
    where = [] if host is None else ["-netns", name(host)]
    done = subprocess.run(
        [tool(command) or command, *where, "-batch", "-"],
        input="\n".join(lines) + "\n",
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        said = " ".join(done.stderr.split())
        raise LabError(f"{command} could not build the lab ({said}). `laconic doctor` says what is missing.")

"""Which cores of this machine each host has: as many as every other, or all have all.

    4 hosts on 2 cores:  0, 1, 0, 1        2 hosts on 4 cores:  {0, 2}, {1, 3}        3 hosts on 2 cores: no shares

A host of its own computes when the others wait, and nobody else's work lands on its cores. Ranks that wander between
cores instead meet later than they need to: some core has three of them for a while, and another has one.
"""

from __future__ import annotations

from collections.abc import Sequence

from laconic.lab.spec import LabSpec


def share_out(cores: Sequence[int], spec: LabSpec) -> list[tuple[int, ...]]:
    """For each host its cores; nothing where shares would not be equal, or a straggler leaves its own unused."""
    hosts = spec.hosts
    if len(cores) < 2 or spec.slow or (hosts % len(cores) and len(cores) % hosts):
        return [()] * hosts
    if hosts >= len(cores):
        return [(cores[host % len(cores)],) for host in range(hosts)]
    return [tuple(cores[host::hosts]) for host in range(hosts)]

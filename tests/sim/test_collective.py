"""Bounds are called so, and what is exact is not."""

from __future__ import annotations

import pytest

from laconic.plan import Plan
from laconic.sim.collective import COUNTED, WORST, Collectives
from laconic.sim.network import Line, Network

EVEN = Network(Line(1e-5, 1e-9))
UNEVEN = Network(Line(1e-5, 1e-9), {3: 8e-9})


@pytest.mark.parametrize(
    ("text", "world", "network", "notes"),
    [
        ("none", 8192, UNEVEN, ()),
        ("allreduce(torus)", 1024, UNEVEN, ()),
        ("allreduce(torus)", 8192, UNEVEN, (WORST,)),
        ("allreduce(torus)", 8192, EVEN, ()),
        ("allreduce(halving_doubling)", 8192, UNEVEN, ()),
        ("allreduce(sra)", 8, UNEVEN, (WORST,)),
        ("allreduce(mesh)", 64, EVEN, (COUNTED,)),
        ("allreduce(mesh)", 16, EVEN, ()),
        ("ps(servers=4)", 8, UNEVEN, (WORST,)),
        ("gossip(ring)", 8, EVEN, ()),
    ],
)
def test_a_bound_is_noted(text: str, world: int, network: Network, notes: tuple[str, ...]) -> None:
    assert Collectives(Plan.parse(text).topology, network, world).notes == notes

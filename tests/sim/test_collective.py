"""Bounds are called so, and what is exact is not."""

from __future__ import annotations

import pytest

from laconic.drive.asked import Asked, Kind
from laconic.plan import Plan
from laconic.sim.collective import SCALED, WORST, Collectives
from laconic.sim.network import Line, Network
from laconic.sim.play import play, rotated
from laconic.topology import AllReduce
from laconic.topology.programs import build

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
        ("allreduce(mesh)", 64, EVEN, (SCALED,)),
        ("allreduce(mesh)", 16, EVEN, ()),
        ("ps(servers=4)", 8, UNEVEN, (WORST,)),
        ("gossip(ring)", 8, EVEN, ()),
    ],
)
def test_a_bound_or_an_estimate_is_noted(text: str, world: int, network: Network, notes: tuple[str, ...]) -> None:
    assert Collectives(Plan.parse(text).topology, network, world).notes == notes


MANY = [(text, world) for text in ("double_tree", "double_tree, pieces=1", "mesh") for world in (33, 48, 64, 96)]
MANY += [("mesh, rows=3", world) for world in (33, 48, 96)] + [("mesh, rows=8", world) for world in (48, 64, 96)]
MANY += [("mesh, rows=48", 96), ("double_tree", 256)]


@pytest.mark.parametrize("numel", [1000, 6_553_600])
@pytest.mark.parametrize(("text", "world"), MANY)
def test_what_is_scaled_is_near_what_is_played(text: str, numel: int, world: int) -> None:
    line, topology = Line(5e-5, 8e-10), Plan.parse(f"allreduce({text})").topology
    assert isinstance(topology, AllReduce)
    name, shape = topology.algorithm, topology.shape
    played = play(rotated([build(name, rank, world, numel, shape) for rank in range(world)]), Network(line)).seconds
    wire = Collectives(topology, Network(line), world).wire(Asked(Kind.REDUCE, 4 * numel))
    assert wire.latency_s + wire.line_s == pytest.approx(
        played, rel=0.11 if name == "double_tree" else 0.22
    )  # as docs/scale.md says
    assert wire.latency_s > 0


def test_a_deal_crosses_regions_only_for_those_who_live_there() -> None:
    """Of seven messages four leave the region of half of the workers."""
    network = Network(Line(1e-3, 1e-9), regions=2, across=Line(1e-1, 1e-8))
    wire = Collectives(Plan.parse("none").topology, network, 8).wire(Asked(Kind.DEAL, 1000))
    assert wire.latency_s == pytest.approx(3 * 1e-3 + 4 * 1e-1)
    assert wire.line_s == pytest.approx(1000 * (3 * 1e-9 + 4 * 1e-8))
    assert (wire.sent, wire.messages) == (7000, 7)


def test_a_deal_waits_for_the_worker_with_the_slowest_line() -> None:
    wire = Collectives(Plan.parse("none").topology, UNEVEN, 8).wire(Asked(Kind.DEAL, 1000))
    assert wire.line_s == pytest.approx(7 * 1000 * 8e-9)


def test_pairs_that_swap_over_unequal_lines_are_a_bound() -> None:
    ways = Collectives(Plan.parse("gtopk(0.01)").topology, UNEVEN, 8)
    assert ways.bounds([(Asked(Kind.POST, 100),)]) == (WORST,)
    assert ways.bounds([(Asked(Kind.DEAL, 100),), (Asked(Kind.GATHER, 100),)]) == ()

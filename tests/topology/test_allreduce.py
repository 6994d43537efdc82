from __future__ import annotations

import pytest

from laconic.core.errors import PlanError
from laconic.core.exchange import Route
from laconic.plan import Plan
from laconic.topology import AllReduce
from laconic.topology.programs import Shape, build


@pytest.mark.parametrize("world", [1, 2, 3, 8, 1000])
def test_sparse_messages_are_gathered(world: int):
    assert AllReduce().route(sparse=True, world=world) is Route.GATHER


@pytest.mark.parametrize(("world", "route"), [(1, Route.GATHER), (2, Route.GATHER), (3, Route.DEAL), (64, Route.DEAL)])
def test_dense_codes_are_dealt_among_more_than_two(world: int, route: Route):
    assert AllReduce().route(sparse=False, world=world) is route


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("world", [1, 2, 8])
def test_a_route_that_was_asked_for_is_taken(sparse: bool, world: int):
    assert AllReduce(route_by="gather").route(sparse, world) is Route.GATHER
    assert AllReduce(route_by="deal").route(sparse, world) is Route.DEAL


def test_an_unknown_route_is_refused():
    with pytest.raises(PlanError, match="auto, gather or deal"):
        AllReduce(route_by="ring")


def test_a_plan_names_the_program():
    assert AllReduce().program(0, 4, 100) is None
    assert AllReduce("ring").program(1, 4, 100) == build("ring", 1, 4, 100)
    plan = Plan.parse("allreduce(blueconnect, factors=2x3, route=deal) / qsgd")
    assert isinstance(plan.topology, AllReduce)
    assert plan.topology.program(4, 6, 100) == build("blueconnect", 4, 6, 100, Shape(factors=(2, 3)))
    assert str(plan.topology) == "allreduce(blueconnect, factors='2x3', route=deal)"
    told = {"topology": {"name": "allreduce", "route": "deal"}, "compress": "qsgd"}
    assert Plan.from_dict(told).topology == AllReduce(route_by="deal")


@pytest.mark.parametrize(
    ("text", "world"),
    [("allreduce(hierarchical, groups=2)", 5), ("allreduce(torus, rows=3)", 4), ("allreduce(masters, groups=3)", 2)],
)
def test_a_world_that_does_not_fit_is_refused_with_the_plan_in_the_sentence(text: str, world: int):
    topology = Plan.parse(text).topology
    assert isinstance(topology, AllReduce)
    with pytest.raises(PlanError, match=f"{world} ranks cannot") as caught:
        topology.fit(world)
    assert str(caught.value).startswith(text)
    topology.fit(6)

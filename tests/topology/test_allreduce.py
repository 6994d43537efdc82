from __future__ import annotations

import pytest

from laconic.core.errors import PlanError
from laconic.core.exchange import Route
from laconic.topology import AllReduce


@pytest.mark.parametrize("world", [1, 2, 3, 8, 1000])
def test_sparse_messages_are_gathered(world: int):
    assert AllReduce().route(sparse=True, world=world) is Route.GATHER


@pytest.mark.parametrize(("world", "route"), [(1, Route.GATHER), (2, Route.GATHER), (3, Route.DEAL), (64, Route.DEAL)])
def test_dense_codes_are_dealt_among_more_than_two(world: int, route: Route):
    assert AllReduce().route(sparse=False, world=world) is route


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("world", [1, 2, 8])
def test_a_route_that_was_asked_for_is_taken(sparse: bool, world: int):
    assert AllReduce("gather").route(sparse, world) is Route.GATHER
    assert AllReduce("deal").route(sparse, world) is Route.DEAL


def test_an_unknown_route_is_refused():
    with pytest.raises(PlanError, match="auto, gather or deal"):
        AllReduce("ring")

from __future__ import annotations

import pytest

from laconic.server.calls import leaf_of, plan_calls
from laconic.server.server import Member
from laconic.topology import ParameterServer

ADDRESSES = [f"tcp://127.0.0.1:{port}" for port in (1, 2, 3)]


def test_all_workers_call_all_servers():
    calls, wiring = plan_calls(ParameterServer(servers=3), Member("g", 1), 4, ADDRESSES)
    assert [c.address for c in calls] == ADDRESSES
    assert {c.as_name for c in calls} == {"g/worker/1"}
    assert wiring.adding == wiring.relaying == (0, 1, 2)


@pytest.mark.parametrize("world", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("leaves", [2, 3])
def test_every_worker_of_a_tree_has_one_leaf_and_leaves_are_even(world: int, leaves: int):
    used = min(leaves, world)
    groups = [[r for r in range(world) if leaf_of(r, world, used) == leaf] for leaf in range(used)]
    assert sorted(rank for group in groups for rank in group) == list(range(world))
    sizes = [len(g) for g in groups]
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1


def test_workers_of_a_tree_tell_their_leaf_where_the_root_is():
    calls, wiring = plan_calls(ParameterServer("tree"), Member("g", 3), 4, ADDRESSES)
    root, leaf = calls
    assert (root.address, leaf.address) == (ADDRESSES[0], ADDRESSES[2])
    assert leaf.as_name == "g/leaf/1/worker/1"
    assert leaf.words["root"] == ADDRESSES[0]
    assert (leaf.words["leaf"], leaf.words["leaves"], leaf.words["world"]) == (1, 2, 2)
    assert (wiring.adding, wiring.relaying) == ((1,), (0,))

from __future__ import annotations

import pytest

from laconic.core.errors import PlanError
from laconic.core.exchange import Route
from laconic.plan import Plan
from laconic.topology import ParameterServer


@pytest.mark.parametrize(
    "text",
    ["ps", "ps(servers=1)", "ps(servers=4)", "ps(colocated)", "ps(tree)", "ps(tree, servers=5)", "ps(reply=encode)"],
)
def test_the_text_of_a_plan_is_read_back(text: str):
    plan = Plan.parse(f"{text} / ef(topk(0.01))")
    assert Plan.parse(str(plan)) == plan
    assert Plan.from_json(plan.to_json()) == plan
    assert str(plan.topology) == text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ps(4)", "Write ps\\(servers=4\\)"),
        ("ps(ring)", "the layout is"),
        ("ps(servers=-1)", "between 1 and"),
        ("ps(servers=5000)", "between 1 and"),
        ("ps(colocated, servers=2)", "Leave servers out"),
        ("ps(tree, servers=2)", "at least two leaves"),
        ("ps(reply=maybe)", "auto, encode or all"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_built(text: str, sentence: str):
    with pytest.raises(PlanError, match=sentence):
        Plan.parse(text)


def test_only_servers_beside_workers_need_no_hosts():
    needed = {"ps": 1, "ps(servers=8)": 8, "ps(colocated)": 0, "ps(tree)": 3, "ps(tree, servers=5)": 5}
    topologies = {text: Plan.parse(text).topology for text in needed}
    assert {text: t.own_hosts(4) for text, t in topologies.items() if isinstance(t, ParameterServer)} == needed


@pytest.mark.parametrize("world", [1, 2, 3, 4, 5, 8])
def test_servers_are_counted(world: int):
    assert ParameterServer().owners(world) == 1
    assert ParameterServer(servers=4).owners(world) == 4
    assert ParameterServer("colocated").owners(world) == ParameterServer("colocated").count(world) == world
    assert (ParameterServer("tree").count(world), ParameterServer("tree").owners(world)) == (3, 1)


def test_dense_codes_are_encoded_again_and_sparse_ones_handed_on():
    assert ParameterServer().route(sparse=False, world=4) is Route.SERVER
    assert ParameterServer().route(sparse=True, world=4) is Route.GATHER
    assert ParameterServer(reply="encode").route(sparse=True, world=4) is Route.SERVER
    assert ParameterServer(reply="all").route(sparse=False, world=4) is Route.GATHER

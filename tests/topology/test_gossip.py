"""Gossip as a part of a plan: texts, and combinations that cannot work."""

from __future__ import annotations

from pathlib import Path

import pytest

from laconic.compress import TopK
from laconic.core.errors import PlanError
from laconic.integrations.ddp_hook import ddp_hook
from laconic.plan import Plan
from laconic.sync import Local, Subject
from laconic.topology import Complete, Gossip, OnePeerExponential, Ring, Torus, WeightFile
from laconic.topology.mixing import Choco, PushSum


@pytest.mark.parametrize(
    ("text", "topology"),
    [
        ("gossip(ring)", Gossip(Ring())),
        ("gossip(torus(2))", Gossip(Torus(2))),
        ("gossip(one_peer_exp, push_sum)", Gossip(OnePeerExponential(), PushSum())),
        ("gossip(complete, by=choco(0.3))", Gossip(Complete(), Choco(0.3))),
        ("gossip(weights('/tmp/my weights.txt'))", Gossip(WeightFile("/tmp/my weights.txt"))),
    ],
)
def test_texts_come_back(text: str, topology: Gossip):
    plan = Plan.parse(text)
    assert plan.topology == topology
    assert Plan.parse(str(plan)) == plan
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.subject is Subject.MODEL


def test_gossip_beside_other_parts():
    plan = Plan.parse("gossip(ring, choco(0.3)) / topk(0.01) / local(4)")
    assert plan == Plan(Local(4), Gossip(Ring(), Choco(0.3)), TopK(0.01))
    assert str(plan) == "local(4) / gossip(ring, by=choco(0.3)) / topk(0.01) / fused"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gossip", "gossip needs 'graph'"),
        ("ring", r"ring is a graph inside gossip\(...\)"),
        ("choco(0.1)", r"choco\(0.1\) is a mixing inside gossip"),
        ("gossip(dpsgd)", r"gossip\(graph=...\) wants a graph part, got dpsgd"),
        ("gossip(ring, topk)", r"gossip\(by=...\) wants a mixing part"),
        ("gossip(ring, choco(0))", "above 0 and at most 1"),
        ("gossip(ring, choco(2))", "above 0 and at most 1"),
        ("gossip(ring, powergossip(0))", "a whole number from 1 up"),
        ("silent / gossip(ring)", "would have no effect"),
        (
            "gossip(one_peer_exp, choco)",
            "choco keeps what it knows of its neighbours",
        ),
        ("gossip(random_pairs, dcd)", "change in every round"),
        ("gossip(exp, powergossip)", "who hears me is not whom I hear"),
        ("gossip(ring) / topk(0.01)", "dpsgd mixes whole models"),
        ("gossip(ring, push_sum) / qsgd(4)", "push_sum mixes whole models"),
        ("gossip(ring, powergossip) / topk(0.1)", "powergossip mixes whole models"),
        ("gossip(ring, choco) / ef(topk(0.01))", "keeps its own memory"),
        ("gossip(ring, choco) / dgc", "keeps its own memory"),
        ("gossip(ring, choco) / powersgd(2)", "asks for sums over all workers"),
        ("gossip(ring, choco) / gtopk(0.01)", "asks for sums over all workers"),
        ("gossip(ring, choco) / majority", "asks for sums over all workers"),
        ("gossip(ring, dcd) / topk(0.1)", "no memory for what topk"),
        ("gossip(ring, ecd) / sign", "no memory for what sign"),
    ],
)
def test_what_cannot_work_is_refused_with_a_reason(text: str, problem: str):
    with pytest.raises(PlanError, match=problem):
        Plan.parse(text)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("0 0\n1 1", "row 0 of the weights is zero: rank 0 would be left without a model"),
        ("0 0\n1 1\n\n1 1\n0 0", "row 0 of the weights is zero"),
        ("1/2 0\n1/2 1", "some ranks never hear of each other"),  # rank 1 gathers all weight, that of rank 0 vanishes
        ("0 1\n1 0", "only swap their models"),
    ],
)
def test_weights_that_would_starve_a_rank_are_refused_for_push_sum_too(rows: str, problem: str, tmp_path: Path):
    """Columns add up to one and there is a spectral gap, but y / w would become 0 / 0."""
    (tmp_path / "w.txt").write_text(rows)
    with pytest.raises(PlanError, match=problem):
        Gossip(WeightFile(str(tmp_path / "w.txt")), PushSum()).settle(2)


def test_directed_weights_suit_push_sum(tmp_path: Path):
    (tmp_path / "w.txt").write_text("1/2 0 1/2\n1/2 1/2 0\n0 1/2 1/2")
    Gossip(WeightFile(str(tmp_path / "w.txt")), PushSum()).settle(3)


def test_ddp_hooks_do_not_gossip():
    with pytest.raises(PlanError, match="under DDP only the compressor"):
        ddp_hook("gossip(ring)")

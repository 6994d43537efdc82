"""Ranking: worked examples where the answer is known."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from laconic.plan import Plan
from laconic.planner.network_file import NetworkTable, cpu_line, fit_line, from_dict
from laconic.planner.search import DDP, Planner, Risk, candidates, planner_of, risk
from laconic.planner.why import reasons
from laconic.sim.collective import Curve
from laconic.sim.machine import Coding, Machine
from laconic.sim.model import ModelTable, table
from laconic.sim.network import Line, Network


def model(seconds: float = 0.1, numel: int = 2_000_000) -> ModelTable:
    shapes = [(f"w{i}", (numel // 1000, 250)) for i in range(4)]
    return table("m", shapes, [seconds / 12] * 4, batch=8)


def planner(line: Line, seconds: float = 0.1) -> Planner:
    return Planner(model(seconds), Network(line), Machine())


def test_on_a_fast_network_ddp_is_the_answer() -> None:
    found = planner(Line(1e-6, 1e-12)).rank(4, candidates(lossy=True))
    assert found[0].text == DDP
    assert "DDP is the answer" in " ".join(reasons(planner(Line(1e-6, 1e-12)), found))


def test_on_a_slow_network_fewer_bytes_win_only_where_they_are_allowed() -> None:
    slow = planner(Line(1e-4, 8e-8))  # 100 Mbit/s
    mild, any_ = slow.rank(4, candidates(lossy=False)), slow.rank(4, candidates(lossy=True))
    assert {f.risk for f in mild} == {Risk.LOSSLESS}
    assert any_[0].risk is not Risk.LOSSLESS
    assert any_[0].step.seconds < 0.5 * mild[0].step.seconds
    assert "no lossless order" in " ".join(reasons(slow, mild))


def test_coding_that_costs_more_than_it_saves_is_not_chosen() -> None:
    dear = replace(planner(Line(1e-5, 8e-10)), machine=Machine(cores=0.5, coding=Coding(1e-6, 1e-6)))
    found = dear.rank(4, ["ef(topk(0.01))", "qsgd(bits=4)"])
    assert found[0].text == DDP


def test_who_should_not_distribute_is_told() -> None:
    hopeless = planner(Line(0.1, 8e-6))
    found = hopeless.rank(4, candidates(lossy=False))
    assert not found[0].pays
    assert "Do not distribute" in " ".join(reasons(hopeless, found))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", Risk.LOSSLESS),
        ("allreduce(ring)", Risk.LOSSLESS),
        ("bf16", Risk.ROUNDED),
        ("qsgd(bits=4)", Risk.UNBIASED),
        ("ef(topk(0.01))", Risk.BIASED),
        ("local(4)", Risk.STALE),
        ("gossip(ring)", Risk.STALE),
    ],
)
def test_every_plan_says_what_it_asks_the_model_to_bear(text: str, expected: Risk) -> None:
    assert risk(Plan.parse(text)) is expected


def test_every_candidate_can_be_read() -> None:
    for text in candidates(lossy=True):
        Plan.parse(text)


def curve(alpha: float, beta: float, world: int) -> Curve:
    sizes = (1e3, 1e5, 1e7)
    return Curve(sizes, tuple(2 * (world - 1) * alpha + 2 * (world - 1) / world * s * beta for s in sizes))


def network(world: int = 4) -> NetworkTable:
    seen = curve(1e-4, 8e-8, world)
    return NetworkTable(world, 1, 2, {"reduce": seen}, {"reduce": curve(1e-5, 1e-9, world)}, Line(1e-4, 8e-8))


def test_a_line_is_fitted_to_what_was_measured() -> None:
    line = fit_line(curve(3e-4, 2e-8, 5), 5)
    assert (line.alpha_s, line.beta_s) == (pytest.approx(3e-4), pytest.approx(2e-8))
    assert cpu_line(curve(1e-5, 1e-9, 4), 4) == (pytest.approx(1e-9), pytest.approx(1e-5))


def test_a_network_survives_its_file_and_ranks_share_its_cores() -> None:
    table_ = replace(network(), codings={"bf16": Coding(1e-9, 2e-9)}, pairs=(((0.0, 1.0),),))
    assert from_dict(json.loads(table_.to_json())) == table_
    assert table_.machine(4).cores == 0.5
    assert table_.machine(2).cores == 1.0
    assert table_.machine(64).cores == 0.5  # as many on a machine as were measured


def test_measured_tables_count_for_as_many_workers_as_were_measured() -> None:
    slow = replace(network(), curves={"reduce": Curve((1.0, 1e7), (1.0, 1.0))})
    seen = planner_of(model(), slow)
    assert seen.predict("fifo", 4).step.seconds > 1.0  # type: ignore[union-attr]
    assert seen.predict("fifo", 8).step.seconds < 3.0  # type: ignore[union-attr]


def test_layers_that_travel_unseen_may_stay_dense() -> None:
    """The last layers hold most of the bytes and their gradients come first: compressing them gains nothing."""
    shapes = [("first", (2000, 1000)), ("second", (100, 100)), ("last", (400, 300))]
    early = table("m", shapes, [0.3, 0.3, 0.3], batch=1)
    found = Planner(early, Network(Line(1e-5, 8e-9)), Machine(coding=Coding(1e-7, 1e-7))).rank(4, ["ef(topk(0.01))"])
    texts = [f.text for f in found]
    kept = next(f for f in found if f.text.startswith("filtered("))
    assert "deny='^(last|second)$'" in kept.text
    assert kept.step.coding_s < next(f for f in found if f.text == "ef(topk(0.01))").step.coding_s
    assert texts.index(kept.text) < texts.index("ef(topk(0.01))")
    assert Plan.parse(kept.text).compress.compresses("first", 10)  # type: ignore[attr-defined]

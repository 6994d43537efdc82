"""Ranking: worked examples where the answer is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from laconic.core.errors import PlanError
from laconic.plan import Plan
from laconic.planner.candidates import candidates
from laconic.planner.risk import Risk
from laconic.planner.search import ALONE, DDP, Found, Planner, planner_of, ranked
from laconic.sim.collective import Curve
from laconic.sim.lanes import Step
from laconic.sim.machine import Coding, Machine
from laconic.sim.model import ModelTable, table
from laconic.sim.network import Line, Network
from tests.planner.networks import network


def model(seconds: float = 0.1, numel: int = 2_000_000) -> ModelTable:
    shapes = [(f"w{i}", (numel // 1000, 250)) for i in range(4)]
    return table("m", shapes, [seconds / 12] * 4, batch=8)


def planner(line: Line, seconds: float = 0.1) -> Planner:
    return Planner(model(seconds), Network(line), Machine())


def test_on_a_fast_network_ddp_is_the_answer() -> None:
    assert planner(Line(1e-6, 1e-12)).rank(4, candidates(lossy=True)).best.text == DDP


def test_on_a_slow_network_fewer_bytes_win_only_where_they_are_allowed() -> None:
    slow = planner(Line(1e-4, 8e-8))  # 100 Mbit/s
    mild, any_ = slow.rank(4, candidates(lossy=False)), slow.rank(4, candidates(lossy=True))
    assert {f.risk for f in mild.found} == {Risk.LOSSLESS}
    assert any_.best.risk is not Risk.LOSSLESS
    assert any_.best.step.seconds < 0.5 * mild.best.step.seconds


def test_coding_that_costs_more_than_it_saves_is_not_chosen() -> None:
    dear = replace(planner(Line(1e-5, 8e-10)), machine=Machine(cores=0.5, coding=Coding(1e-6, 1e-6)))
    assert dear.rank(4, ["ef(topk(0.01))", "qsgd(bits=4)"]).best.text == DDP


@pytest.mark.parametrize(("line", "place"), [(Line(0.1, 8e-6), 0), (Line(1e-6, 1e-12), -1)])
def test_one_worker_alone_stands_where_its_speed_puts_it(line: Line, place: int) -> None:
    found = planner(line).rank(4, candidates(lossy=False)).found
    assert found[place].text == ALONE
    assert [f.speedup for f in found if not f.distributes] == [1.0]


def found(text: str, seconds: float, kind: Risk = Risk.LOSSLESS, world: int = 4) -> Found:
    """One worker takes 1 s."""
    return Found(text, world, kind, Step(seconds, seconds, 0.0, 0.0, 0.0, 0.0, ()), 1.0)


def test_of_two_within_one_percent_the_milder_stands_first() -> None:
    rows = [found("ef(sign)", 1.0, Risk.BIASED), found("bf16", 1.005, Risk.ROUNDED), found(DDP, 2.0)]
    texts = [f.text for f in ranked(rows, found(ALONE, 1.0, world=1))]
    assert texts == ["bf16", "ef(sign)", DDP, ALONE]


def test_below_one_worker_alone_stands_only_what_is_slower() -> None:
    rows = [found(DDP, 4.01), found("bf16", 3.99, Risk.ROUNDED), found("wfbp", 4.02)]
    texts = [f.text for f in ranked(rows, found(ALONE, 1.0, world=1))]
    assert texts == ["bf16", ALONE, DDP, "wfbp"]  # ddp is milder and within 1%, but no gain over one worker


def test_where_all_are_slower_than_one_worker_the_milder_still_comes_first() -> None:
    rows = [found("bf16", 4.5, Risk.ROUNDED), found(DDP, 4.51)]
    assert [f.text for f in ranked(rows, found(ALONE, 1.0, world=1))] == [ALONE, DDP, "bf16"]


def test_what_is_named_is_ranked_or_left_out_with_a_reason() -> None:
    seen = planner(Line(1e-4, 8e-8)).rank(4, ["none"], also=["wfbp", "silent", "allreduce(torus, rows=3)", "one_shot"])
    assert "wfbp" in [f.text for f in seen.found]
    reasons = {left.text: left.why for left in seen.left_out}
    assert "never talks" in reasons["silent"]
    assert "3 equal rows" in reasons["allreduce(torus, rows=3)"]
    assert "never talks" in reasons["one_shot"]
    with pytest.raises(PlanError, match="topkk"):
        planner(Line(1e-4, 8e-8)).rank(4, ["none"], also=["topkk(0.01)"])


def test_a_plan_stands_once_however_it_is_written() -> None:
    seen = planner(Line(1e-4, 8e-8)).rank(4, ["none", "bf16"], also=["bsp / bf16"])
    assert [f.text for f in seen.found if "bf16" in f.text] == ["bsp / bf16"]


def test_at_scale_a_program_of_fewer_hops_and_a_compressor_are_put_together() -> None:
    far = planner(Line(5e-5, 8e-9))
    found = far.rank(1024, ["none", "allreduce(torus)", "ef(powersgd(4))", "local(8)"]).found
    seconds = {f.text: f.step.seconds for f in found}
    assert {"allreduce(torus) / ef(powersgd(4))", "local(8) / allreduce(torus)"} <= seconds.keys()
    assert found[0].text == "local(8) / allreduce(torus) / ef(powersgd(4))"
    assert seconds["local(8) / allreduce(torus)"] < min(seconds["local(8)"], seconds["allreduce(torus)"])


def test_a_part_that_gains_nothing_is_left_out_of_a_combination() -> None:
    """Sparse messages are gathered: no all-reduce program carries them."""
    found = planner(Line(1e-4, 8e-8)).rank(4, ["none", "allreduce(torus)", "ef(topk(0.01))"]).found
    assert "allreduce(torus) / ef(topk(0.01))" not in [f.text for f in found]


def test_more_servers_than_workers_are_not_thought_of() -> None:
    slow, texts = planner(Line(1e-4, 8e-8)), candidates(lossy=False, servers=True)
    few, many = ({f.text for f in slow.rank(n, texts).found} for n in (4, 16))
    assert "ps(servers=2)" in few
    assert "ps(servers=8)" in many - few


def test_measured_tables_count_for_as_many_workers_as_were_measured() -> None:
    slow = replace(network(), curves={"reduce": Curve((1.0, 1e7), (1.0, 1.0))})
    seen = planner_of(model(), slow)
    assert seen.predict("fifo", 4).step.seconds > 1.0  # type: ignore[union-attr]
    assert seen.predict("fifo", 8).step.seconds < 3.0  # type: ignore[union-attr]


def test_layers_that_travel_unseen_may_stay_dense() -> None:
    """The last layers hold most of the bytes and their gradients come first: compressing them gains nothing."""
    shapes = [("first", (2000, 1000)), ("second", (100, 100)), ("last", (400, 300))]
    early = table("m", shapes, [0.3, 0.3, 0.3], batch=1)
    dear = Planner(early, Network(Line(1e-5, 8e-9)), Machine(coding=Coding(1e-6, 1e-6)))
    found = dear.rank(4, ["ef(topk(0.01))"]).found
    texts = [f.text for f in found]
    kept = next(f for f in found if f.text.startswith("filtered("))
    assert "deny='^(last$|second$)'" in kept.text
    assert kept.step.coding_s < next(f for f in found if f.text == "ef(topk(0.01))").step.coding_s
    assert texts.index(kept.text) < texts.index("ef(topk(0.01))")
    assert Plan.parse(kept.text).compress.compresses("first", 10)  # type: ignore[attr-defined]


def test_where_compressing_pays_is_looked_at_tensor_by_tensor() -> None:
    """A large matrix, and many small ones, each of which takes low rank two milliseconds."""
    shapes = [("large", (2000, 1000)), *((f"small{i}", (100, 60)) for i in range(40))]
    mixed = table("m", shapes, [0.001] * len(shapes), batch=1)
    known = {str(Plan.parse("ef(powersgd(2))").compress): Coding(1e-9, 1e-9, tensor_s=2e-3)}
    found = Planner(mixed, Network(Line(1e-5, 8e-9)), Machine(codings=known)).rank(4, ["none", "ef(powersgd(2))"]).found
    seconds = {f.text.partition("(")[0]: f.step.seconds for f in found}
    assert seconds["selective"] < 0.99 * seconds["ef"]
    assert any("overhead_us=2e+03" in f.text for f in found)

"""The second round: which plans are looked at next."""

from __future__ import annotations

from laconic.plan import Plan
from laconic.planner.candidates import candidates
from laconic.planner.combined import LARGER, PAIRS, combined


def test_the_best_of_each_answer_are_paired_most_promising_first() -> None:
    seen = {"none": 8.0, "allreduce(torus)": 4.0, "allreduce(ring)": 9.0, "bf16": 4.0, "wfbp": 8.0, "local(8)": 1.0}
    texts = combined(seen)
    assert texts[0] in ("local(8) / allreduce(torus)", "local(8) / bf16")
    assert {"allreduce(torus) / bf16", "local(8) / allreduce(torus) / bf16"} <= set(texts)
    pairs = [text for text in texts if text.count("/") == 1]
    assert texts[: len(pairs)] == pairs


def test_only_the_fastest_of_each_class_are_combined() -> None:
    seen = {"none": 8.0, "wfbp": 7.0} | {f"ef(topk({i}))": float(i + 1) for i in range(1, 7)}
    texts = combined({text.replace("topk(", "topk(0.0"): s for text, s in seen.items()})
    assert texts == ["ef(topk(0.01)) / wfbp", "ef(topk(0.02)) / wfbp"]


def test_what_cannot_be_one_plan_is_passed_over() -> None:
    assert combined({"none": 2.0, "gossip(ring)": 1.0, "planned": 1.0}) == []


def test_there_are_never_many_and_all_can_be_read() -> None:
    texts = combined({text: 1.0 + i / 100 for i, text in enumerate(candidates(lossy=True, servers=True))})
    assert 20 < len(texts) <= PAIRS + LARGER
    for text in texts:
        Plan.parse(text)

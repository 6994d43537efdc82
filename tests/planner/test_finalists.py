"""What is worth trying, by predictions made by hand."""

from __future__ import annotations

from laconic.planner.finalists import Finalist, finalists, longest, nothing_to_try
from laconic.planner.risk import Risk
from laconic.planner.search import Found, Ranking
from laconic.sim.lanes import Step


def found(text: str, seconds: float, alone_s: float = 1.0, risk: Risk = Risk.LOSSLESS) -> Found:
    return Found(text, 4, risk, Step(seconds, alone_s, 0.0, 0.0, 0.0, 0.0, ()), 1.0)


def ranking(*rows: Found) -> Ranking:
    return Ranking(rows)


def test_only_what_is_predicted_to_beat_ddp_is_tried() -> None:
    rows = [found("wfbp", 1.0), found("none", 1.1), found("ddp", 1.2, alone_s=1.15), found("fifo", 1.5)]
    assert finalists(ranking(*rows), None) == [Finalist("wfbp", Risk.LOSSLESS, 1.0)]


def test_where_ddp_waits_a_planned_order_is_tried_whatever_is_predicted() -> None:
    assert [f.text for f in finalists(ranking(found("ddp", 1.2)), None)] == ["planned"]
    assert finalists(ranking(found("ddp", 1.2), found("planned", 1.3)), None)[0].predicted_s == 1.3
    assert [f.text for f in finalists(ranking(found("planned", 1.1), found("ddp", 1.2)), None)] == ["planned"]


def test_a_planned_order_is_given_the_steps_it_needs_to_settle() -> None:
    planned, wfbp = Finalist("planned", Risk.LOSSLESS), Finalist("wfbp", Risk.LOSSLESS)
    assert Finalist("ddp", Risk.LOSSLESS).steps == wfbp.steps < planned.steps <= longest()
    assert planned.settles(32)
    assert not planned.settles(20)
    assert wfbp.settles(2)


def test_a_plan_that_talks_rarely_is_tried_until_it_has_talked_twice() -> None:
    rare = Finalist("local(32) / bf16", Risk.STALE)
    assert rare.steps == 65 <= longest()
    assert rare.settles(65)
    assert not rare.settles(64)
    assert Finalist("local(4)", Risk.STALE).steps == Finalist("ddp", Risk.LOSSLESS).steps


LOSSY = ranking(
    found("local(32) / bf16", 0.2, risk=Risk.STALE),
    found("local(32)", 0.21, risk=Risk.STALE),
    found("local(4)", 0.5, risk=Risk.STALE),
    found("ef(sign)", 0.6, risk=Risk.BIASED),
    found("bf16", 0.7, risk=Risk.ROUNDED),
    found("ddp", 1.0),
)


def test_beside_the_best_stands_the_best_that_asks_less_of_the_model() -> None:
    assert [f.text for f in finalists(LOSSY, None)] == ["local(32) / bf16", "ef(sign)"]
    rows = [found("wfbp", 1.0), found("fifo", 1.1), found("ddp", 1.2, alone_s=1.2)]
    assert [f.text for f in finalists(ranking(*rows), None)] == ["wfbp", "fifo"]  # none is milder


def test_what_the_training_is_too_short_for_makes_room_for_others() -> None:
    assert [f.text for f in finalists(LOSSY, 40)] == ["local(4)", "ef(sign)"]
    rare = ranking(*(f for f in LOSSY.found if "32" in f.text or f.text == "ddp"))
    assert finalists(rare, 40) == []
    assert nothing_to_try(rare) == "None of the 2 plans that are predicted to be faster can be judged in so few steps."
    assert nothing_to_try(ranking(found("ddp", 1.0))).startswith("No other plan allowed here")

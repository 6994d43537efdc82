"""Every plan says what it promises."""

from __future__ import annotations

import pytest

from laconic.plan import Plan


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ("bsp", ["the step in flight", "gradients at the newest model", "equal after every step"]),
        ("local(8)", ["at most 8 steps", "between rounds workers are on their own", "equal after every 8 steps"]),
        ("post_local(50, h=4)", ["later at most 4 steps", "none until step 50"]),
        ("adacomm(16)", ["at most 16 steps, times first learning rate / learning rate", "as the loss allows"]),
        ("cocod(8)", ["at most 16 steps", "heard 8 steps late"]),
        ("diloco(100, fragments=4, overlap=5)", ["at most 105 steps", "heard 5 steps late", "close"]),
        ("ssp(2) / ps", ["that worker", "more than 2 ahead of the slowest", "equal after flush()"]),
        ("asp(damped, most=9) / ps", ["no bound", "more than 9 versions old is dropped"]),
        ("r2sp / ps", ["one of every other worker old"]),
        ("backup(1) / ps", ["late steps are dropped", "at most 1 workers"]),
        ("lag", ["at most 100 steps old", "equal after every step"]),
        ("laq", ["staleness          a silent worker's gradient is at most 100 steps old", "equal after every step"]),
        ("by_tensor(laq(patience=7))", ["at most 7 steps old"]),
        ("gossip(ring)", ["that worker's model", "heard in every round", "equal after average()"]),
        ("ssp(1) / gossip(ring, adpsgd)", ["more than 1 ahead of a neighbour"]),
        ("asp / gossip(ring, adpsgd)", ["nobody waits"]),
        ("silent", ["everything of that worker", "without bound", "drift apart"]),
    ],
)
def test_what_a_plan_promises(plan: str, words: list[str]):
    text = str(Plan.parse(plan).promises)
    assert all(word in text for word in words), text
    assert len(text.splitlines()) == 3

"""Who wins, by tries made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from laconic.planner.finalists import Finalist
from laconic.planner.judging import settled, winners
from laconic.planner.risk import Risk

WFBP, FIFO = Finalist("wfbp", Risk.LOSSLESS, 1.0), Finalist("fifo", Risk.LOSSLESS)


def test_a_plan_must_win_every_try_by_three_percent() -> None:
    said: list[str] = []
    seen = {"ddp": [2.0, 2.0], "wfbp": [1.0, 1.99], "fifo": [1.5, 1.5]}
    assert winners([WFBP, FIFO], seen, said.append) == [FIFO]
    assert said[0].endswith("(predicted 1 s).")
    assert said[1].endswith("times as fast as DDP.")
    assert winners([WFBP], seen, said.append) == []


def test_of_those_within_one_percent_the_mildest_is_first() -> None:
    stale = [Finalist("local(8)", Risk.STALE), Finalist("local(4)", Risk.STALE)]
    seen = {"ddp": [2.0, 2.0], "local(8)": [1.0, 1.0], "local(4)": [1.2, 1.2], "fifo": [1.009, 1.009]}
    assert [f.text for f in winners([*stale, FIFO], seen, lambda _: None)] == ["fifo", "local(8)", "local(4)"]
    seen["fifo"] = [1.02, 1.02]
    assert [f.text for f in winners([*stale, FIFO], seen, lambda _: None)] == ["local(8)", "fifo", "local(4)"]


def test_a_plan_that_failed_once_is_not_taken() -> None:
    assert winners([WFBP], {"ddp": [2.0, 2.0], "wfbp": [1.0]}, lambda _: None) == []


BEFORE = {"ddp": [2.0, 2.0], "local(8)": [1.0, 1.0], "wfbp": [1.5, 1.5], "fifo": [1.6, 1.6]}


@pytest.mark.parametrize(
    ("again", "asked", "chosen", "last"),
    [
        ({"local(8)": [1.1, 1.1]}, ["local(8)"], "local(8)", "training with local(8). It is stale, and only its speed"),
        ({"local(8)": [1.1, 1.99], "wfbp": [1.5, 1.5]}, ["local(8)", "wfbp"], "wfbp", "training with wfbp."),
        (
            {"local(8)": [1.1], "wfbp": [2.0, 2.0]},
            ["local(8)", "wfbp"],
            "ddp",
            "DDP is the answer: no plan won once more.",
        ),
    ],
)
def test_the_best_must_win_once_more_beside_ddp_alone(
    again: dict[str, list[float]], asked: list[str], chosen: str, last: str
) -> None:
    said: list[str] = []
    tries: list[list[str]] = []

    def tried(some: Sequence[Finalist]) -> dict[str, list[float]]:
        tries.append([f.text for f in some])
        return BEFORE if len(some) > 1 else {"ddp": [2.0, 2.0], **again}

    assert settled([Finalist("local(8)", Risk.STALE), WFBP, FIFO], tried, said.append) == chosen
    assert tries == [["local(8)", "wfbp", "fifo"], *([text] for text in asked)]
    assert said[-1].startswith(f"auto: {last}")
    assert ("auto: local(8) did not win beside DDP alone." in said) == (len(asked) > 1)

"""What `--plan auto` settles on, from predictions and tries made by hand."""

from __future__ import annotations

import pytest

from laconic.cli.auto import _finalists, _settle, is_auto, refuse_elsewhere
from laconic.core.errors import PlanError
from laconic.planner.search import Found, Risk
from laconic.sim.step import Step


def found(text: str, seconds: float) -> Found:
    return Found(text, 4, Risk.LOSSLESS, Step(seconds, 1.0, 0.0, 0.0, 0.0, 0.0, ()), 1.0)


def test_only_what_is_predicted_to_beat_ddp_is_tried() -> None:
    ranked = [found("wfbp", 1.0), found("none", 1.1), found("ddp", 1.2), found("fifo", 1.5)]
    assert [f.text for f in _finalists(ranked)] == ["wfbp"]


def test_a_plan_must_win_every_try_by_three_percent() -> None:
    said: list[str] = []
    a, b = found("wfbp", 1.0), found("fifo", 1.0)
    seen = {"ddp": [2.0, 2.0], "wfbp": [1.0, 1.99], "fifo": [1.5, 1.5]}
    assert _settle([a, b], seen, said.append) == "fifo"
    assert said[-1] == "auto: training with fifo."
    assert _settle([a], seen, said.append) == "ddp"
    assert "DDP is the answer" in said[-1]


def test_a_plan_that_failed_once_is_not_taken() -> None:
    assert _settle([found("wfbp", 1.0)], {"ddp": [2.0, 2.0], "wfbp": [1.0]}, lambda _: None) == "ddp"


def test_auto_is_known_by_its_name_and_stays_on_one_machine() -> None:
    assert is_auto("auto")
    assert is_auto("auto( lossy )")
    assert not is_auto("none")
    assert not is_auto(None)
    with pytest.raises(PlanError, match="one machine"):
        refuse_elsewhere(alone=False)

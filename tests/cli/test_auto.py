"""What `--plan auto` settles on, from predictions and tries made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from laconic.cli import auto, profile
from laconic.cli.auto import Finalist, Trial, _best, _finalists, _settled, choose, is_auto, longest, refuse_elsewhere
from laconic.core.errors import LaconicError, PlanError
from laconic.launch.job import Script, local_sites
from laconic.planner.risk import Risk
from laconic.planner.search import Found, Ranking
from laconic.sim.lanes import Step


def found(text: str, seconds: float, alone_s: float = 1.0) -> Found:
    return Found(text, 4, Risk.LOSSLESS, Step(seconds, alone_s, 0.0, 0.0, 0.0, 0.0, ()), 1.0)


def ranking(*rows: Found) -> Ranking:
    return Ranking(rows)


def test_only_what_is_predicted_to_beat_ddp_is_tried() -> None:
    rows = [found("wfbp", 1.0), found("none", 1.1), found("ddp", 1.2, alone_s=1.15), found("fifo", 1.5)]
    assert _finalists(ranking(*rows)) == [Finalist("wfbp", Risk.LOSSLESS, 1.0)]


def test_where_ddp_waits_a_planned_order_is_tried_whatever_is_predicted() -> None:
    assert [f.text for f in _finalists(ranking(found("ddp", 1.2)))] == ["planned"]
    assert _finalists(ranking(found("ddp", 1.2), found("planned", 1.3)))[0].predicted_s == 1.3
    assert [f.text for f in _finalists(ranking(found("planned", 1.1), found("ddp", 1.2)))] == ["planned"]


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


def test_tries_run_as_the_training_does_but_for_plan_and_trace() -> None:
    env = {"LACONIC_PLAN": "auto", "LACONIC_TRACE": "out.json", "OMP_NUM_THREADS": "4"}
    trial = Trial(lambda _: Script("train.py", is_module=False, args=()), env=env)
    assert trial.variables == {"OMP_NUM_THREADS": "4", "LACONIC_TRACE": ""}


def test_a_network_that_cannot_be_measured_is_left_to_ddp(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> None:
        raise LaconicError("Probing took too long:")

    monkeypatch.setattr(auto.profile, "run", lambda *_: None)
    monkeypatch.setattr(auto.probe, "measure", slow)
    said: list[str] = []
    trial = Trial(lambda _: Script("train.py", is_module=False, args=()))
    assert choose("auto", trial, local_sites(2), said.append) == "ddp"
    assert said[-1].startswith("auto: DDP. The network could not be measured. Probing took too long")


WFBP, FIFO = Finalist("wfbp", Risk.LOSSLESS, 1.0), Finalist("fifo", Risk.LOSSLESS)


def test_a_plan_must_win_every_try_by_three_percent() -> None:
    said: list[str] = []
    seen = {"ddp": [2.0, 2.0], "wfbp": [1.0, 1.99], "fifo": [1.5, 1.5]}
    assert _best([WFBP, FIFO], seen, said.append) is FIFO
    assert said[0].endswith("(predicted 1 s).")
    assert said[1].endswith("times as fast as DDP.")
    assert _best([WFBP], seen, said.append) is None


def test_a_plan_that_failed_once_is_not_taken() -> None:
    assert _best([WFBP], {"ddp": [2.0, 2.0], "wfbp": [1.0]}, lambda _: None) is None


def test_the_best_must_win_once_more_beside_ddp_alone() -> None:
    said: list[str] = []
    asked: list[list[str]] = []

    def tried(some: Sequence[Finalist]) -> dict[str, list[float]]:
        asked.append([f.text for f in some])
        return {"ddp": [2.0, 2.0], "wfbp": [1.0, 1.0], "fifo": [1.5, 1.5]} if len(some) > 1 else again

    again = {"ddp": [2.0, 2.0], "wfbp": [1.1, 1.1]}
    assert _settled([WFBP, FIFO], tried, said.append) == "wfbp"
    assert asked == [["wfbp", "fifo"], ["wfbp"]]
    assert said[-1] == "auto: training with wfbp."
    again = {"ddp": [2.0, 2.0], "wfbp": [1.1, 1.99]}
    assert _settled([WFBP, FIFO], tried, said.append) == "ddp"
    assert said[-1] == "auto: DDP is the answer: wfbp was not 3% faster in every try."


def test_a_script_too_short_to_measure_is_trained_with_ddp(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*_: object) -> None:
        raise profile.TooShortError("The script ends after 20 steps, too few to measure one: 23 are needed.")

    monkeypatch.setattr(auto.profile, "run", short)
    said: list[str] = []
    trial = Trial(lambda _: Script("train.py", is_module=False, args=()))
    assert choose("auto", trial, local_sites(2), said.append) == "ddp"
    assert said[-1].startswith("auto: DDP. The script ends after 20 steps")


def test_auto_is_known_by_its_name_and_stays_on_one_machine() -> None:
    assert is_auto("auto")
    assert is_auto("auto( lossy )")
    assert not is_auto("none")
    assert not is_auto(None)
    with pytest.raises(PlanError, match="one machine"):
        refuse_elsewhere(alone=False)

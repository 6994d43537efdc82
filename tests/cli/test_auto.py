"""What `--plan auto` settles on, from predictions and tries made by hand."""

from __future__ import annotations

import pytest

from laconic.cli import auto, profile
from laconic.cli.auto import Trial, _length, _tried, choose, is_auto, refuse_elsewhere
from laconic.compare.measured import Run
from laconic.compare.order import Turn
from laconic.compare.run import Request
from laconic.core.errors import LaconicError, PlanError
from laconic.launch.job import Script, local_sites
from laconic.planner.finalists import STEPS, Finalist
from laconic.planner.risk import Risk


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


def runs(monkeypatch: pytest.MonkeyPatch, takes: int, seconds: dict[str, float | str]) -> list[tuple[str, int | None]]:
    """Runs of a script of so many steps are made up; what was asked for is noted."""
    asked: list[tuple[str, int | None]] = []

    def run_once(request: Request, turn: Turn, *_: object) -> Run | str:
        asked.append((turn.row.text, request.last_step))
        came = seconds[turn.row.text]
        steps = min(takes, request.last_step or takes)
        return came if isinstance(came, str) else Run(steps, came, None, 0.0, None, ())

    monkeypatch.setattr(auto, "run_once", run_once)
    return asked


TRIAL = Trial(lambda _: Script("train.py", is_module=False, args=()))


def test_tries_turn_round_and_leave_out_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = runs(monkeypatch, 1000, {"ddp": 1.0, "wfbp": 0.5, "fifo": "Rank 1 ended.\nmore"})
    said: list[str] = []
    seen = _tried([Finalist("ddp", Risk.LOSSLESS), WFBP, FIFO], TRIAL, local_sites(2), said.append)
    assert [text for text, _ in asked] == ["ddp", "wfbp", "fifo", "wfbp", "ddp"]
    assert seen == {"ddp": [1.0, 1.0], "wfbp": [0.5, 0.5], "fifo": []}
    assert said == ["auto: fifo failed and is left out: Rank 1 ended."]


def test_how_long_a_script_is_shows_under_ddp(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = runs(monkeypatch, 40, {"ddp": 1.0})
    said: list[str] = []
    assert _length(65, TRIAL, local_sites(2), said.append) == 40
    assert _length(34, TRIAL, local_sites(2), said.append) is None
    assert asked == [("ddp", 65), ("ddp", 34)]
    assert not said
    runs(monkeypatch, 40, {"ddp": "It did not finish within 5 s.\nmore"})
    assert _length(65, TRIAL, local_sites(2), said.append) == STEPS
    assert len(said) == 1
    assert said[0].startswith("auto: plans that take more than 24 steps to judge are left out.")
    assert said[0].endswith("DDP was tried for 65: It did not finish within 5 s.")


def test_a_script_too_short_to_measure_is_trained_with_ddp(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*_: object) -> None:
        raise profile.NotMeasuredError("The script ends after 20 steps, too few to measure one: 23 are needed.")

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

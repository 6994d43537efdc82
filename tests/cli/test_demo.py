"""The demo is `laconic compare` twice; its own part is small."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from laconic.cli import demo
from laconic.cli.compare import arguments, read
from laconic.compare.rows import Kind
from laconic.core.errors import UsageError


@pytest.mark.parametrize("task", demo.TASKS, ids=lambda task: task[0])
@pytest.mark.parametrize("where", [demo.LAB, demo.LOOPBACK], ids=["lab", "loopback"])
def test_what_it_compares_is_what_a_user_could_type(task: tuple[str, ...], where: tuple[str, ...]) -> None:
    argv = (*task, *where, *demo.SHARED)
    request = read(*arguments(argv), argv)
    kinds = [row.kind for row in request.rows]
    assert kinds == [Kind.BASELINE, Kind.PLAN, Kind.PLAN, Kind.PLAN, Kind.FLOOR]  # DDP against three plans
    assert request.setting.hosts == 4
    assert request.setting.rate == ("100mbit" if where is demo.LAB else None)
    assert request.setting.steps is not None
    assert request.setting.steps % 4 == 0  # whole rounds of local(4)


def test_a_page_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--html"):
        demo.main(["--html", str(tmp_path)])


def test_without_a_lab_it_runs_over_loopback_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.setattr(demo, "support", lambda: SimpleNamespace(fault="no such kernel"))
    monkeypatch.setattr(demo, "TASKS", [("digits", "--steps", "8", "--batch", "2")])
    monkeypatch.setattr(demo, "LOOPBACK", ("-n", "2"))
    monkeypatch.setattr(demo, "SHARED", ("--plans", "local(2)", "--baselines", "ddp", "--repeat", "1"))
    out = tmp_path / "demo.html"
    assert demo.main(["--html", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "(no such kernel): network gains cannot show here." in shown
    assert "digits --batch 2: 2 processes over loopback, 8 steps" in shown
    assert f"The same as a page: {out}" in shown
    assert "<h1>Laconic&#x27;s demo" in out.read_text()

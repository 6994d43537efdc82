from __future__ import annotations

from pathlib import Path

import pytest

from laconic.cli import main
from laconic.cli.checks import gossip
from laconic.cli.weights import weights_report
from laconic.core.errors import PlanError


def test_doctor_checks_a_file_of_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "w.txt"
    path.write_text("2/3 1/3 0\n1/3 1/3 1/3\n0 1/3 2/3\n")
    assert main(["doctor", "--weights", str(path)]) == 0
    said = capsys.readouterr().out
    assert "3 workers, 1 matrices in turn, at most 2 messages" in said
    assert "Spectral gap 0.3333" in said
    assert "All algorithms can use them." in said
    assert main(["doctor", "--weights", str(path), "--json"]) == 2
    assert "Leave --json out" in capsys.readouterr().err


def test_it_says_who_can_use_them(tmp_path: Path) -> None:
    path = tmp_path / "w.txt"
    path.write_text("1/2 0 1/2\n1/2 1/2 1/4\n0 1/2 1/4\n")
    assert "Only push_sum can use them" in weights_report(str(path))
    path.write_text("1/2 1/2 0\n0 1/2 1/2\n1/2 0 1/2\n")
    assert "not symmetric" in weights_report(str(path))
    path.write_text("1 0\n0 1\n")
    with pytest.raises(PlanError, match="spectral gap 0"):
        weights_report(str(path))


def test_doctor_shows_the_gaps_of_all_graphs() -> None:
    assert gossip().detail.startswith("spectral gaps of 8 workers: ring 0.195, torus 0.5, complete 1")

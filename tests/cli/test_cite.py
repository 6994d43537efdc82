from __future__ import annotations

import pytest

from laconic.cli import main


def test_two_plans_print_each_paper_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cite", "ef(topk(0.01) | golomb)", "ddp", "topk(0.1)"]) == 0
    out = capsys.readouterr().out
    assert out.count("@inproceedings{aji2017sparse,") == 1
    assert "@article{golomb1966run," in out
    assert "@article{li2020pytorch," in out
    assert out.count("{") == out.count("}")


def test_a_plan_that_cannot_be_read_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cite", "topkk(0.1)"]) == 2
    assert "unknown name 'topkk'" in capsys.readouterr().err

"""Survey 002's measured speedups, from its published inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from laconic.sim.survey002 import SAME_NODE, Row, allowed_s, rows

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
EXPLAINED = {("resnet50", "ByteScheduler-A2A", 4), ("resnet50", "ByteScheduler-A2A", 32)}  # docs/scale.md says why


@pytest.fixture(scope="module")
def seen() -> list[Row]:
    return rows()


def test_lossless_methods_come_out_within_15_percent(seen: list[Row]) -> None:
    off = {(r.model, r.method, r.gpus) for r in seen if abs(r.ratio - 1) > 0.15}
    assert off == EXPLAINED
    assert len(seen) == 42


def test_the_page_shows_what_is_predicted(seen: list[Row]) -> None:
    page = PAGE.read_text()
    for r in seen:
        row = f"| {r.model} | {r.method} | {r.gpus} | {r.measured:.2f} | {r.predicted:.2f} | {r.ratio:.2f} |"
        assert row in page


def test_what_deviates_is_slower_than_what_hides_nothing(seen: list[Row]) -> None:
    """So no model of the network can explain it."""
    steps = {(r.model, r.method, r.gpus): r.step_s for r in seen}
    for model, method, gpus in EXPLAINED:
        assert steps[model, method, gpus] > 1.3 * steps[model, "BSP-A2A", gpus]


def test_tensors_that_pass_one_by_one_explain_most_of_what_deviates(seen: list[Row]) -> None:
    for row in seen:
        if (row.model, row.method, row.gpus) in EXPLAINED:
            slower = row.passing(allowed_s(seen, row))
            assert 1 < slower.ratio < 1.25 < row.ratio


def test_tensors_that_take_all_there_is_give_the_measured_step(seen: list[Row]) -> None:
    row = next(r for r in seen if (r.model, r.method, r.gpus) in EXPLAINED)
    assert row.passing(row.each_s).ratio == pytest.approx(1)
    assert row.passing(0.0) == row


def test_the_deviating_method_does_not_repeat_itself() -> None:
    apart = {method: max(samples) / min(samples) - 1 for method, samples in SAME_NODE.items()}
    assert apart["ByteScheduler-A2A"] > 50 * apart["WFBP-A2A"]


def test_an_all_reduce_is_what_a_step_without_overlap_adds(seen: list[Row]) -> None:
    row = next(r for r in seen if (r.model, r.method, r.gpus) == ("bert-large", "BSP-A2A", 4))
    assert row.step_s - row.alone_s == pytest.approx(0.441, abs=0.002)  # the survey's own number

from __future__ import annotations

import pytest

from laconic.compare.lines import BY_FLOOR, MEASURED, Reached, Spread, best_baseline, lines, main_metric
from laconic.compare.measured import Point
from laconic.compare.target import Target
from tests.compare.made import comparison, run

UNTIL = Target("accuracy", ">=", 0.9)


def test_ratios_above_one_mean_faster():
    ddp, bf16, plan, floor = lines(
        comparison({"ddp": [run(4.0)], "ddp+bf16": [run(2.0)], "local(8)": [run(1.0)], "silent": [run(0.5)]})
    )
    assert [line.ratio_to_ddp for line in (ddp, bf16, plan, floor)] == [1.0, 2.0, 4.0, 8.0]
    assert [line.ratio_to_best_baseline for line in (ddp, bf16, plan, floor)] == [0.5, 1.0, 2.0, 4.0]


def test_the_median_of_repetitions_stands_with_its_spread():
    (line,) = lines(comparison({"ddp": [run(1.0), run(5.0), run(2.0)]}))
    assert line.step_s == Spread(2.0, 1.0, 5.0)
    assert line.runs == 3


def test_a_plans_wait_is_measured_and_ddps_is_its_step_minus_the_floor():
    ddp, plan, floor = lines(
        comparison({"ddp": [run(4.0)], "none": [run(3.0, wait_s=1.0)], "silent": [run(1.5, wait_s=0.0)]})
    )
    assert (ddp.exposed_s, ddp.compute_s, ddp.exposed_by) == (2.5, 1.5, BY_FLOOR)
    assert (plan.exposed_s, plan.compute_s, plan.exposed_by) == (1.0, 2.0, MEASURED)
    assert (floor.exposed_s, floor.compute_s) == (0.0, 1.5)


def test_without_a_floor_ddps_share_is_unknown_and_below_it_it_is_nothing():
    (alone,) = lines(comparison({"ddp": [run(4.0)]}))
    assert (alone.exposed_s, alone.compute_s, alone.exposed_by) == (None, None, None)
    ddp, _ = lines(comparison({"ddp": [run(1.0)], "silent": [run(1.1, wait_s=0.0)]}))
    assert (ddp.exposed_s, ddp.compute_s) == (0.0, 1.0)


def test_a_failed_row_has_no_figures_and_the_others_keep_theirs():
    ddp, plan = lines(comparison({"ddp": [run(2.0)], "bf16": "Rank 1 ended."}))
    assert (plan.failure, plan.step_s, plan.ratio_to_ddp) == ("Rank 1 ended.", None, None)
    assert ddp.ratio_to_ddp == 1.0


def test_without_ddp_there_are_no_ratios_to_it():
    _, plan = lines(comparison({"ddp": "no", "bf16": [run(1.0)]}))
    assert plan.ratio_to_ddp is None
    assert plan.ratio_to_best_baseline is None
    assert plan.step_s is not None


def test_metrics_are_medians_and_unknown_if_one_run_diverged():
    (line,) = lines(comparison({"ddp": [run(accuracy=0.5), run(accuracy=0.9), run(accuracy=0.7)]}))
    assert line.metrics == {"accuracy": 0.7}
    diverged = run(points=(Point(1, 1.0, 1.0, None, {"accuracy": None}),))
    (line,) = lines(comparison({"ddp": [run(accuracy=0.5), diverged]}))
    assert line.metrics == {"accuracy": None}


def test_the_target_is_reached_at_the_first_log_that_meets_it():
    early = (
        Point(2, 2.0, 20.0, 22.0, {"accuracy": 0.5}),
        Point(4, 4.0, 40.0, 44.0, {"accuracy": 0.95}),
        Point(6, 6.0, 60.0, 66.0, {"accuracy": 0.8}),
    )
    (line,) = lines(comparison({"ddp": [run(points=early)]}, until=UNTIL))
    assert line.reached == Reached(4.0, 40.0, 44.0, 1)


def test_a_target_that_one_run_missed_is_not_reached():
    (line,) = lines(comparison({"ddp": [run(accuracy=0.95), run(accuracy=0.8)]}, until=UNTIL))
    assert line.reached == Reached(None, None, None, 1)


def test_interface_bytes_are_known_only_if_every_run_knows_them():
    (line,) = lines(comparison({"ddp": [run(tx=100.0), run(tx=120.0)]}))
    assert line.tx_bytes == pytest.approx(110.0)
    (line,) = lines(comparison({"ddp": [run(tx=100.0), run()]}))
    assert line.tx_bytes is None


def test_the_best_baseline_is_the_fastest_one():
    rows = lines(comparison({"ddp": [run(4.0)], "ddp+bf16": [run(2.0)], "bf16": [run(1.0)]}))
    best = best_baseline(rows)
    assert best is not None
    assert best.row.text == "ddp+bf16"
    assert best_baseline([]) is None


def test_the_table_shows_the_targets_metric_else_the_first():
    rows = lines(comparison({"ddp": [run(loss=1.0, accuracy=0.5)]}))
    assert main_metric(rows, None) == "loss"
    assert main_metric(rows, UNTIL) == "accuracy"
    assert main_metric(rows, Target("other", ">", 1.0)) == "loss"
    assert main_metric([], None) is None

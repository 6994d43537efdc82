"""The step's figure, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from laconic.compare.measured import LONGEST, WARMUP_STEPS, Point, read_run, talking_share
from laconic.core.errors import LaconicError
from tests.compare.made import PLAN, journal


def test_the_first_steps_are_left_out():
    found = read_run([journal([100.0] * WARMUP_STEPS + [1.0, 2.0, 3.0])], PLAN)
    assert found.step_s == 2.0
    assert found.steps == WARMUP_STEPS + 4


def test_the_slowest_rank_is_the_step_and_all_ranks_are_the_pace():
    found = read_run([journal([1.0] * 9), journal([4.0] * 9)], PLAN)
    assert (found.step_s, found.rank_step_s, found.steps_per_s) == (4.0, (1.0, 4.0), 1.25)
    assert found.apart
    assert not read_run([journal([1.0] * 9), journal([1.1] * 9)], PLAN).apart


def test_a_run_of_warm_up_alone_is_timed_by_it():
    assert read_run([journal([3.0, 1.0])], PLAN).step_s == 2.0


LOCAL = {"step_s": [1.0] * 7 + [9.0], "talks": [0] * 7 + [1], "wire": [0] * 7 + [800]}  # the steps of one round


def local(steps: int, **more: Any) -> dict[str, Any]:
    """So many steps of local(8); the first of them ends no interval."""
    columns = {name: (values * steps)[1:steps] for name, values in LOCAL.items()}
    return journal(**columns, first_talks=0, **more)


@pytest.mark.parametrize("steps", [32, 39, 8])  # whole rounds, one cut short, a single one
def test_local_steps_count_by_their_share_not_by_their_median(steps: int):
    found = read_run([local(steps)], PLAN)
    assert found.step_s == pytest.approx(2.0)
    assert found.wire_bytes == pytest.approx(100.0)


def test_the_first_round_counts_as_a_usual_one_however_late_it_comes():
    """Kernels are loaded and memory is touched in it, as in the first steps of plans that talk in every step."""
    found = local(40)
    found["step_s"][6] = 40.0
    assert read_run([found], PLAN).step_s == pytest.approx(2.0)


def test_the_bytes_of_the_first_round_count_where_rounds_differ():
    """Fragments of 10 and of 2 by turns: 6 a round of ten steps."""
    talks = [int(step % 10 == 0) for step in range(2, 41)]
    wire = [talk * (10 if step % 20 else 2) for step, talk in enumerate(talks, 2)]
    found = read_run([journal([1.0] * 39, talks=talks, wire=wire, first_talks=0)], PLAN)
    assert found.wire_bytes == pytest.approx(0.6)


def test_leaving_out_evaluations_does_not_change_the_share_of_talking_steps():
    """Every interval after an exchange holds an evaluation; the talking share stays one in eight."""
    found = local(40, logged=[9, 17, 25, 33])
    for step in found["logged_steps"]:
        found["step_s"][step - 2] = 500.0
    assert read_run([found], PLAN).step_s == pytest.approx(2.0)


def test_a_first_step_that_talked_counts_as_one():
    assert talking_share(journal([1.0, 1.0, 1.0], talks=[0, 1, 0], first_talks=1)) == pytest.approx(2 / 3)
    assert talking_share(journal([1.0, 1.0], talks=[0, 0], first_talks=0)) == 0.0
    assert read_run([journal([2.0, 2.0], talks=[0, 0], first_talks=1)], PLAN).step_s == 2.0


def test_an_evaluation_on_one_rank_is_left_out_on_all():
    steps = [1.0] * 10
    waiting = [1.0] * 7 + [50.0] + [1.0] * 2
    found = read_run([journal(steps, logged=[9]), journal(waiting)], PLAN)
    assert found.step_s == 1.0


def test_a_script_that_logs_in_every_step_is_timed_all_the_same():
    assert read_run([journal([2.0] * 10, logged=list(range(2, 12)))], PLAN).step_s == 2.0


def test_an_extreme_interval_counts_as_five_medians():
    found = read_run([journal([1.0] * 5 + [1.0] * 9 + [1000.0], wait_s=[0.5] * 14 + [500.0])], PLAN)
    assert found.step_s == pytest.approx((9 + LONGEST) / 10)
    assert found.wait_s == pytest.approx((9 * 0.5 + LONGEST / 2) / 10)


def test_a_job_is_as_fast_as_its_slowest_rank_and_sends_as_much_as_the_average_one():
    ranks = [
        journal([1.0] * 8, wait_s=[0.5] * 8, wire=[100] * 8, tx=[110] * 8),
        journal([2.0] * 8, wait_s=[0.1] * 8, wire=[300] * 8, tx=[330] * 8),
    ]
    found = read_run(ranks, PLAN)
    assert (found.step_s, found.wire_bytes, found.tx_bytes) == (2.0, 200.0, 220.0)
    assert found.wait_s == pytest.approx(0.3)


def test_what_one_rank_does_not_know_nobody_knows():
    found = read_run([journal([1.0] * 8, wait_s=[0.5] * 8, tx=[1] * 8), journal([1.0] * 8)], PLAN)
    assert found.wait_s is None
    assert found.tx_bytes is None


def test_logs_come_from_the_first_rank_that_has_any():
    entry = {"step": 4, "seconds": 2.0, "wire_bytes": 10, "tx_bytes": None, "metrics": {"loss": 0.5}}
    later = entry | {"step": 8, "metrics": {"accuracy": None}}
    found = read_run([journal([1.0] * 8), journal([1.0] * 8, logs=[entry, later])], PLAN)
    assert found.points[0] == Point(4, 2.0, 10, None, {"loss": 0.5})
    assert found.metrics == {"loss": 0.5, "accuracy": None}


def test_a_script_that_chose_another_plan_is_found_out():
    with pytest.raises(LaconicError, match=r"was told to train with bsp.*trained with local\(8\).*Leave the plan out"):
        read_run([journal([1.0] * 8, plan="local(8)")], PLAN)
    with pytest.raises(LaconicError, match=r"never called laconic\.distribute"):
        read_run([journal([1.0] * 8, plan="")], PLAN)


def test_ranks_that_took_different_steps_are_found_out():
    with pytest.raises(LaconicError, match="different numbers of steps: 8, 9"):
        read_run([journal([1.0] * 8), journal([1.0] * 7)], PLAN)


def test_a_run_without_two_steps_cannot_be_timed():
    with pytest.raises(LaconicError, match="too few to time one"):
        read_run([journal([])], PLAN)


def test_steps_in_which_orders_were_tried_are_left_out_on_all_ranks() -> None:
    tried, chosen = [2.0] * 8, [1.0] * 4
    ranks = [journal(tried + chosen, settled_after=settled) for settled in (0, 8)]
    assert read_run(ranks, PLAN).step_s == 1.0


def test_a_run_that_ended_before_they_had_settled_is_timed_all_the_same() -> None:
    assert read_run([journal([2.0] * 8, settled_after=9)], PLAN).step_s == 2.0

"""The dynamic program is the optimum; MG-WFBP's rule is as in the paper."""

from __future__ import annotations

from itertools import accumulate, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laconic.core.errors import UsageError
from laconic.schedule.curve import Curve, steady, straight
from laconic.schedule.partition import Ends, alone, end, merged, planned

gaps = st.lists(st.floats(0, 3), min_size=1, max_size=9)
curves = st.lists(st.floats(0, 5), min_size=3, max_size=3).map(lambda s: steady((0, 50, 200), s))


def _all(count: int) -> list[Ends]:
    inner = range(1, count)
    return [[*cut, count] for k in range(count) for cut in combinations(inner, k)]


@given(gaps=gaps, sizes=st.lists(st.integers(0, 100), min_size=9, max_size=9), cost=curves)
def test_planned_equals_the_best_of_all_partitions(gaps: list[float], sizes: list[int], cost: Curve):
    ready = list(accumulate(gaps))
    sizes = sizes[: len(ready)]
    found = planned(ready, sizes, cost)
    all_ends = [(end(ready, sizes, ends, cost), len(ends)) for ends in _all(len(ready))]
    best, _ = min(all_ends)
    assert end(ready, sizes, found, cost) == pytest.approx(best, abs=1e-12)
    assert len(found) >= min(count for s, count in all_ends if s <= best + 1e-9)  # sums differ in their last digits
    assert len(found) <= min(count for s, count in all_ends if s == best)


@given(
    gaps=gaps,
    sizes=st.lists(st.integers(0, 100), min_size=9, max_size=9),
    a=st.floats(0, 2),
    b=st.floats(0, 0.1),
)
def test_planned_is_never_worse_than_greedy_wfbp_or_one_bucket(gaps: list[float], sizes: list[int], a: float, b: float):
    ready, cost = list(accumulate(gaps)), straight(a, b)
    sizes = sizes[: len(ready)]
    mine = end(ready, sizes, planned(ready, sizes, cost), cost)
    for other in (merged(ready, sizes, a, b), alone(len(ready)), [len(ready)]):
        assert mine <= end(ready, sizes, other, cost) + 1e-6  # interpolating to 2^30 bytes costs digits


def test_greedy_can_lose_to_the_plan():
    # Merging the first two looks cheap at each step but holds up the third.
    ready, sizes, cost = [0.0, 0.9, 1.0, 5.0], [100, 1, 1, 1], straight(1.0, 0.01)
    greedy = end(ready, sizes, merged(ready, sizes, 1.0, 0.01), cost)
    assert end(ready, sizes, planned(ready, sizes, cost), cost) <= greedy


def test_merging_by_the_papers_rule_by_hand():
    # a = 1, b = 0: the second comes 0.5 after the first could start, which is less than another latency: merge.
    assert merged([0.0, 0.5, 3.0], [1, 1, 1], 1.0, 0.0) == [2, 3]
    # The link is still busy when the next gradient comes: merging is free.
    assert merged([0.0, 4.0, 4.1], [10, 1, 1], 1.0, 1.0) == [1, 3]
    # The message has gone before the next comes.
    assert merged([0.0, 2.0], [1, 1], 1.0, 0.0) == [1, 2]


def test_without_latency_the_last_leaves_alone_and_the_others_in_as_few_messages_as_cost_nothing():
    assert planned([0.0, 1.0, 2.0], [8, 8, 8], straight(0.0, 0.01)) == [2, 3]
    assert planned([0.0, 1.0, 2.0], [8, 80, 8], straight(0.0, 0.01)) == [2, 3]
    assert planned([0.0, 1.0, 2.0], [80, 80, 8], straight(0.0, 0.01)) == [1, 2, 3]  # the second would not be in time


def test_with_nothing_but_latency_all_leave_together():
    assert planned([0.0, 0.1, 0.2], [8, 8, 8], straight(10.0, 0.0)) == [3]


def test_nothing_to_send_needs_no_message():
    assert planned([], [], straight(1, 1)) == merged([], [], 1, 1) == alone(0) == []


def test_a_curve_goes_straight_between_its_points_and_on_beyond_them():
    curve = Curve((10, 20, 40), (1.0, 2.0, 3.0))
    assert [curve(m) for m in (0, 10, 15, 30, 60)] == pytest.approx([1.0, 1.0, 1.5, 2.5, 4.0])


def test_one_line_through_a_line_is_that_line():
    a, b = Curve((0, 10, 100), (2.0, 2.5, 7.0)).line()
    assert (a, b) == pytest.approx((2.0, 0.05))


def test_a_larger_message_never_costs_less():
    assert steady((1, 2, 3), (2.0, 1.0, 3.0)).seconds == (2.0, 2.0, 3.0)


@pytest.mark.parametrize(("sizes", "seconds"), [((), ()), ((1, 1), (1.0, 1.0)), ((2, 1), (1.0, 1.0)), ((1,), ())])
def test_what_is_no_curve_is_refused(sizes: tuple[int, ...], seconds: tuple[float, ...]):
    with pytest.raises(UsageError, match="cost curve"):
        Curve(sizes, seconds)

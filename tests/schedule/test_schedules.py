"""fifo, wfbp, fused: what goes into which bucket, and in which order buckets leave."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laconic.core.errors import PlanError
from laconic.schedule import ALL, AbstractSchedule, Fifo, Fused, Item, Wfbp
from laconic.schedule.base import fill

KB = 1024


def _items(*sizes: int, kind: str = "float32") -> list[Item]:
    return [Item(nbytes, kind) for nbytes in sizes]


def test_the_last_layers_leave_first():
    assert fill(_items(4, 4, 4, 4), [8]) == [[3, 2], [1, 0]]


def test_a_bucket_closes_when_it_has_reached_its_cap():
    # As in DDP: what reaches the cap still goes in.
    assert fill(_items(5, 9, 3, 2), [5]) == [[3, 2], [1], [0]]


def test_the_first_bucket_is_small_and_the_others_large():
    fused = Fused(bucket="4KiB", first="1KiB")
    assert fused.cut(_items(*[KB] * 7)) == [[6], [5, 4, 3, 2], [1, 0]]


def test_the_default_sizes_are_those_of_ddp():
    mega = 1024 * KB
    buckets = Fused().cut(_items(*[mega // 2] * 60))
    assert [len(b) for b in buckets] == [2, 50, 8]


def test_a_tensor_larger_than_the_cap_is_not_cut():
    assert Fused(bucket="1KiB").cut(_items(10 * KB)) == [[0]]


def test_kinds_do_not_mix():
    items = [Item(4, "float32"), Item(4, "float16"), Item(4, "float32"), Item(4, "float16")]
    buckets = fill(items, [1000])
    assert sorted(map(sorted, buckets)) == [[0, 2], [1, 3]]


def test_a_bucket_leaves_where_its_last_gradient_comes():
    # Backward goes 5, 4, ... 0: the bucket of b is full at item 3, that of a at item 0.
    items = [Item(4, kind) for kind in ("a", "a", "a", "b", "b", "a")]
    assert fill(items, [1000]) == [[4, 3], [5, 2, 1, 0]]


def test_fifo_waits_and_the_others_overlap():
    assert not Fifo.overlaps
    assert Fused.overlaps
    assert Wfbp.overlaps


def test_wfbp_sends_every_tensor_alone_last_first():
    assert Wfbp().cut(_items(1, 1, 1)) == [[2], [1], [0]]


def test_fifo_fills_buckets_of_one_size():
    assert Fifo("2KiB").cut(_items(*[KB] * 5)) == [[4, 3], [2, 1], [0]]


def test_nothing_needs_no_bucket():
    for kind in ALL:
        assert kind().cut([]) == []


@pytest.mark.parametrize("build", [lambda: Fifo("x"), lambda: Fused(bucket="x"), lambda: Fused(first="-1")])
def test_a_size_that_is_none_is_refused(build: object):
    with pytest.raises(PlanError, match="is not a size"):
        build()  # type: ignore[operator]


@given(
    items=st.lists(st.builds(Item, st.integers(0, 5000), st.sampled_from("ab")), max_size=30),
    schedule=st.sampled_from([Fifo("2KiB"), Fused("4KiB", "1KiB"), Wfbp()]),
)
def test_every_item_is_in_one_bucket_of_its_kind(items: list[Item], schedule: AbstractSchedule):
    buckets = schedule.cut(items)
    assert sorted(i for b in buckets for i in b) == list(range(len(items)))
    assert all(buckets)
    assert all(len({items[i].kind for i in b}) == 1 for b in buckets)
    assert all(b == sorted(b, reverse=True) for b in buckets)
    last = [b[-1] for b in buckets]
    assert last == sorted(last, reverse=True), "buckets stand in the order in which backward fills them"

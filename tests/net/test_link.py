from __future__ import annotations

import pytest

from laconic.net.link import Link, all_reduce_bytes


@pytest.mark.parametrize(("world", "share"), [(1, 0), (2, 1.0), (3, 4 / 3), (4, 1.5), (8, 1.75)])
def test_a_ring_sends_its_share_of_an_all_reduce(world: int, share: float):
    assert all_reduce_bytes(1200, world) == 1200 * share


def test_each_collective_by_hand():
    link = Link()
    link.all_reduce(1000, 4)
    assert link == Link(1500, 6)
    link.all_gather(10, 4)
    assert link == Link(1530, 9)
    link.all_to_all([1, 2, 4, 8], rank=2)
    assert link == Link(1541, 12)
    link.send(100, peers=2)
    assert link == Link(1741, 14)


def test_a_broadcast_is_counted_at_its_root():
    root, other = Link(), Link()
    root.broadcast(100, 0, 3)
    other.broadcast(100, 1, 3)
    assert (root.sent_bytes, other.sent_bytes) == (200, 0)


def test_alone_nothing_is_sent():
    link = Link()
    link.all_reduce(1000, 1)
    link.all_gather(1000, 1)
    link.all_to_all([1000], 0)
    link.broadcast(1000, 0, 1)
    assert link == Link(0, 0)

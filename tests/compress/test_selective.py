from __future__ import annotations

import pytest

from laconic.compress import QSGD, Selective, TopK
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError

HUGE, TINY = one_tensor(25_000_000), one_tensor(100)


@pytest.mark.parametrize("gbits", [0.01, 0.1, 1.0, 10.0])
def test_tiny_tensors_are_never_compressed_and_huge_ones_on_a_slow_link_always(gbits: float):
    plan = Selective(TopK(0.01), gbits=gbits)
    assert not Selective(TopK(0.01), gbits=max(gbits, 0.1)).pays(TINY)
    assert plan.pays(HUGE) is (gbits < 8)  # encoding at 1 GB/s = 8 Gbit/s: a faster link needs no help


def test_the_faster_the_codec_the_smaller_the_tensors_that_pay():
    sizes = [one_tensor(1 << i) for i in range(6, 24)]
    slow = [Selective(QSGD(4), gbits=1.0, gbytes=0.5).pays(s) for s in sizes]
    fast = [Selective(QSGD(4), gbits=1.0, gbytes=5.0).pays(s) for s in sizes]
    assert slow == sorted(slow)
    assert fast == sorted(fast)
    assert sum(fast) > sum(slow) > 0


def test_the_break_even_by_hand():
    # 100 Mbit/s, 4 bits and a scale of 32 a 256: 27.875 bits saved an element; 4 bytes of work a ns; 50 us a call.
    saved_ns, work_ns = 27.875 * 10, 4.0
    edge = int(50_000 / (saved_ns - work_ns))
    plan = Selective(QSGD(4), gbits=0.1)
    assert not plan.pays(one_tensor(edge - 10))
    assert plan.pays(one_tensor(edge + 80))


@pytest.mark.parametrize("bad", [{"gbits": 0.0}, {"gbytes": -1.0}, {"overhead_us": -1.0}])
def test_numbers_out_of_range_are_refused(bad: dict[str, float]):
    with pytest.raises(PlanError, match="selective"):
        Selective(TopK(0.1), **bad)

from __future__ import annotations

import pytest
import torch

from laconic.compress import QSGD, Selective, TopK
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.drive.simulate import Kind, told
from laconic.topology import AllReduce
from tests.laws.world import World

HUGE, TINY = one_tensor(25_000_000), one_tensor(100)
RING = AllReduce()


@pytest.mark.parametrize("gbits", [0.01, 0.1, 1.0, 10.0])
def test_tiny_tensors_are_never_compressed_and_huge_ones_on_a_slow_link_always(gbits: float):
    plan = Selective(TopK(0.01), gbits=gbits)
    assert not Selective(TopK(0.01), gbits=max(gbits, 0.1)).pays(TINY, 2, RING)
    assert plan.pays(HUGE, 2, RING) is (gbits < 8)  # coding both ways at 1 GB/s = 8 Gbit/s: faster links need no help


def test_the_faster_the_codec_the_smaller_the_tensors_that_pay():
    sizes = [one_tensor(1 << i) for i in range(6, 24)]
    slow, fast = (
        [Selective(QSGD(4), encode_gbytes=speed, decode_gbytes=speed).pays(s, 4, RING) for s in sizes]
        for speed in (0.5, 10.0)
    )
    assert slow == sorted(slow)
    assert fast == sorted(fast)
    assert sum(fast) > sum(slow) > 0


@pytest.mark.parametrize(
    ("world", "moved", "passes"), [(2, 1.0, 2.0), (4, 1.5, 3.25), (256, 2 * 255 / 256, 3 + 1 / 256)]
)
def test_the_break_even_of_what_is_dealt_by_hand(world: int, moved: float, passes: float):
    """Two ranks gather: each encodes once and decodes once. More deal: chunks are encoded again, and all is decoded
    twice. 100 Mbit/s, 4 bits and a scale of 32 a 256: 27.875 bits saved an element; 4 bytes at 2 GB/s; 50 us."""
    saved_ns, work_ns = 27.875 * 10 * moved, 2.0 * passes
    edge = int(50_000 / (saved_ns - work_ns))
    plan = Selective(QSGD(4), gbits=0.1)
    assert not plan.pays(one_tensor(edge - 10), world, RING)
    assert plan.pays(one_tensor(edge + 80), world, RING)


def test_a_gathered_message_that_moves_more_than_the_tensor_is_not_compressed():
    """n - 1 messages of 0.4 bits an element and more against 2(n-1)/n times 32: even with work for nothing."""
    plan = Selective(TopK(0.01), gbits=0.01, encode_gbytes=1e9, decode_gbytes=1e9, overhead_us=0.0)
    most = int(2 * 32 * HUGE.numel / plan.inner.payload_bits(HUGE))
    assert 150 < most < 160
    assert [plan.pays(HUGE, n, RING) for n in (2, most, most + 1, 256)] == [True, True, False, False]
    assert plan.pays(HUGE, 256, AllReduce(route_by="deal"))


def test_every_other_message_is_decoded_where_messages_are_gathered():
    """Elements of 4 bytes; a link for which nothing but decoding takes time: 32 bits at 1 Gbit/s are 32 ns, 2(n-1)/n
    times, and each of n - 1 decodings 1 ns at 4 GB/s."""
    free = {"encode_gbytes": 1e9, "overhead_us": 0.0, "gbits": 1.0}
    few = TopK(0.000001)
    assert Selective(few, decode_gbytes=4.0, **free).pays(HUGE, 63, RING)
    assert not Selective(few, decode_gbytes=4.0, **free).pays(HUGE, 65, RING)


def test_ranks_decide_by_their_number_when_they_exchange():
    plan, spec = Selective(TopK(0.1), gbits=0.01, overhead_us=0.0), one_tensor(4096)
    x = torch.arange(4096.0)
    for world, compressed in ((2, True), (32, False)):
        assert plan.pays(spec, world, RING) is compressed
        world_of = World(plan, world, spec=spec)
        out = world_of.exchange([x] * world)
        assert torch.equal(out[0].mean, x) is not compressed


def test_virtual_time_asks_what_so_many_ranks_would():
    plan = Selective(TopK(0.01), gbits=0.1)
    kinds = [told(plan, HUGE, RING, world).rounds[0][0].kind for world in (2, 256)]
    assert kinds == [Kind.GATHER, Kind.REDUCE]


def test_claims_are_those_of_the_number_of_ranks_that_compresses():
    assert Selective(TopK(0.1), gbits=0.01).traits(HUGE).delta == pytest.approx(0.1)
    assert Selective(TopK(0.1), gbits=100.0).traits(HUGE).delta == 1.0


@pytest.mark.parametrize("bad", [{"gbits": 0.0}, {"encode_gbytes": -1.0}, {"decode_gbytes": 0.0}])
def test_numbers_out_of_range_are_refused(bad: dict[str, float]):
    with pytest.raises(PlanError, match="selective"):
        Selective(TopK(0.1), **bad)

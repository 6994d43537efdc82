from __future__ import annotations

import pytest
import torch
from torch import Tensor

from laconic.coding import Bitmap, Elias, EliasDelta, EliasGamma, Golomb, Huffman, Quartic, Varint, ZeroRun
from laconic.compress import (
    NUQSGD,
    QSGD,
    SBC,
    STC,
    ByShape,
    Coded,
    Dithering,
    Eden,
    EightBit,
    ErrorFeedback,
    Fp16,
    KLevel,
    Levels,
    MinMax,
    Natural,
    PowerSGD,
    Proportion,
    RandomK,
    Rotated,
    Sign,
    TernGrad,
    ThreeLC,
    Threshold,
    TopK,
)
from laconic.compress.base import AbstractCompressor, Draw, Size
from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.errors import PayloadError, PlanError
from laconic.core.exchange import Seat, Turn
from laconic.core.payload import HEADER_BYTES
from laconic.core.rng import Stream
from laconic.plan import Plan
from laconic.topology import AllReduce
from tests.laws.world import World
from tests.zoo import noise

DRAW = Draw(Stream(1), Stream(2))
MILLION = 1_000_000


def body(coded: Coded, x: Tensor) -> Tensor:
    aux, (out,) = coded.encode(x, DRAW)
    assert aux == out.numel()
    return out


def read(coded: Coded, message: Tensor, numel: int) -> Tensor:
    return coded.decode((message,), numel, message.numel(), DRAW)


def test_the_bar_builds_codings_last():
    assert TopK(0.1) | Golomb() == Coded(TopK(0.1), Golomb())
    assert str(TopK(0.1) | QSGD(4) | Golomb() | Huffman()) == "topk(0.1) | qsgd(4) | golomb | huffman"
    assert Plan.parse("ef(topk(0.1) | qsgd(bits=4) | golomb)").compress == ErrorFeedback(TopK(0.1) | QSGD(4) | Golomb())


def test_stages_share_the_work():
    recipe = (TopK(0.1) | QSGD(4) | Golomb() | Huffman()).recipe
    assert (recipe.selector, recipe.codec, recipe.indices, recipe.symbols) == (TopK(0.1), QSGD(4), Golomb(), Huffman())
    both = (TopK(0.1) | QSGD(4) | Elias()).recipe
    assert (both.indices, both.symbols) == (Elias(), Elias())
    assert (TopK(0.1) | Fp16() | Elias()).recipe.symbols is None
    assert (RandomK(0.1) | QSGD(4) | Elias()).recipe.indices is None  # they do not travel


@pytest.mark.parametrize(
    ("plain", "coding"),
    [
        (TopK(0.1), Golomb()),
        (TopK(0.1) | QSGD(4), Golomb()),
        (TopK(0.1) | QSGD(4), Elias()),
        (Threshold(1.0), Varint()),
        (TopK(0.5) | QSGD(2, block=1024, norm="l2"), ZeroRun()),  # a chain that damps its values
        (SBC(0.1), Golomb()),
        (STC(0.1), Golomb()),
        (Proportion(0.1), Golomb()),
        (QSGD(4), Huffman()),
        (QSGD(2), ZeroRun()),
        (QSGD(8, block=64, norm="l2"), Elias()),
        (RandomK(0.3) | QSGD(3), Huffman()),
        (KLevel(16), Huffman()),
        (MinMax(8), Elias()),
        (Rotated(16, block=1024), Huffman()),
        (Dithering(4), EliasDelta()),
        (NUQSGD(), Huffman()),
        (Levels("0.125 0.25 0.5 1"), Huffman()),
        (EightBit("dynamic"), Huffman()),
        (EightBit("linear"), EliasGamma()),
        (EightBit("float"), Huffman()),
        (Natural(), Huffman()),
        (Natural(), Elias()),
        (Eden(4), Huffman()),
        (ThreeLC(), Huffman()),
        (ThreeLC(1.5), Quartic()),
        (ThreeLC(), ZeroRun()),
        (TopK(0.2) | Natural(), Elias()),
        (TopK(0.2) | Eden(3, block=64), Huffman()),
    ],
    ids=str,
)
def test_nothing_is_lost(plain: AbstractCompressor, coding: Golomb):
    x = noise(3000, 1)
    aux, parts = plain.encode(x, DRAW)  # type: ignore[attr-defined]
    want = plain.decode(parts, 3000, aux, DRAW)  # type: ignore[attr-defined]
    coded = plain | coding
    assert torch.equal(read(coded, body(coded, x), 3000), want)


def bytes_an_element(text: str, numel: int, ratio: float) -> float:
    """Of one whole message, its header and the length that is said first."""
    compressor = Plan.parse(text).compress
    world = World(compressor, 2, "gather", one_tensor(numel))
    world.exchange(world.inputs())
    return world.links[0].sent_bytes / (ratio * numel)


def test_top_k_takes_at_most_5_2_bytes_an_element():
    assert bytes_an_element("ef(topk(0.01) | golomb)", MILLION, 0.01) <= 5.2
    assert bytes_an_element("ef(topk(0.001) | golomb)", MILLION, 0.001) <= 5.6  # 11.6 bits of index


def test_top_k_in_four_bits_takes_at_most_1_6_bytes_an_element():
    assert bytes_an_element("ef(topk(0.01) | qsgd(bits=4) | golomb)", MILLION, 0.01) <= 1.6
    assert bytes_an_element("ef(topk(0.01) | qsgd(bits=4) | golomb | huffman)", MILLION, 0.01) <= 1.4


def test_one_value_for_all_takes_a_byte_an_element():
    assert bytes_an_element("ef(sbc(0.01) | golomb)", MILLION, 0.01) <= 1.05
    assert bytes_an_element("ef(stc(0.01) | golomb)", MILLION, 0.01) <= 1.18  # and a bit of sign


def test_promised_bounds_keep_the_targets_too():
    spec = one_tensor(MILLION)
    assert (TopK(0.01) | Golomb()).payload_bits(spec) / 8 <= 5.2 * 10_000
    assert (TopK(0.01) | QSGD(4) | Golomb()).payload_bits(spec) / 8 <= 1.6 * 10_000


def test_levels_that_a_coding_would_lengthen_are_sent_as_they_are():
    x = noise(4096, 2).sign()  # levels +-7 only: codes of 7 bits by Elias
    coded = QSGD(4) | Elias()
    assert body(coded, x).numel() == 8 + 4096 // 2 + 4 * 16
    assert torch.equal(read(coded, body(coded, x), 4096), x)


def test_one_level_costs_nearly_nothing():
    x = torch.zeros(65_536)
    assert body(QSGD(2) | ZeroRun(), x).numel() == 8 + 4 * 256 + 937


@pytest.mark.parametrize(
    ("plan", "plain", "most"),
    [
        ("natural | huffman", 9, 3.7),  # exponents of normal numbers: 2.6 bits
        ("dithering(bits=4) | elias_delta", 4, 4.2),  # as BytePS ships it; as good as packed, so sent as it is
        ("klevel(16) | huffman", 4, 3.6),
        ("eightbit | huffman", 8, 7.2),
        ("threelc | huffman", 1.6, 1.0),
        ("threelc(sparsity=1.9) | zerorun", 1.6, 0.6),
    ],
)
def test_levels_of_normal_numbers_take_fewer_bits(plan: str, plain: float, most: float):
    """pi_svk, coded exponents and others: bits an element beyond the scales, of a long vector."""
    coded = Plan.parse(plan).compress
    assert isinstance(coded, Coded)
    x = noise(1 << 16, 7)
    bits = 8 * body(coded, x).numel() / x.numel()
    scales = 8 * 4 * 2 / 256
    assert bits <= min(most, plain) + scales


def test_sums_on_the_way_cannot_be_coded():
    with pytest.raises(PlanError, match=r"summed on the way.*qsgd\(bits=2\) \| quartic"):
        TernGrad() | Quartic()


def test_it_promises_what_the_inner_one_promises():
    spec = one_tensor(1000)
    plain, coded = QSGD(4).traits(spec), (QSGD(4) | Huffman()).traits(spec)
    assert (coded.unbiased, coded.omega, coded.grain) == (plain.unbiased, plain.omega, plain.grain)
    assert (coded.size, coded.rounds) == (Size.MOST, 2)
    assert (QSGD(4, block=64) | Huffman()).align == 64


@pytest.mark.parametrize(
    ("first", "coding"),
    [
        (Fp16(), Golomb()),
        (QSGD(4), Golomb()),
        (QSGD(4), Quartic()),
        (TopK(), Huffman()),
        (TopK() | Sign(), Huffman()),
        (SBC(), Huffman()),
        (RandomK(), Golomb()),
        (ErrorFeedback(TopK()), Golomb()),
        (PowerSGD(), Huffman()),
        (TopK() | Golomb(), Varint()),
        (TopK() | QSGD(4) | Elias(), Huffman()),
    ],
    ids=str,
)
def test_a_coding_without_work_is_refused(first: AbstractCompressor, coding: Golomb):
    with pytest.raises(PlanError, match=r"nothing is left that .* could write; it is made for .* Use for example"):
        Coded(first, coding)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("golomb", "golomb writes what another stage chose. Use for example topk(0.01) | golomb."),
        ("golomb | topk", "'|' joins compressors and codings, not golomb and topk"),
        ("ef(golomb)", "wants a compress part, got golomb"),
        ("topk | golomb | qsgd", "Use for example"),
        ("coded(topk)", "unknown name 'coded'"),
    ],
)
def test_codings_stand_last(text: str, problem: str):
    with pytest.raises(PlanError) as caught:
        Plan.parse(text)
    assert problem in str(caught.value)


def test_matrices_may_be_coded_beside_the_rest():
    spec = BucketSpec(0, ("w", "b"), ((64, 64), (64,)))
    world = World(ByShape(TopK(0.05) | Golomb(), rest=Fp16()), 3, "auto", spec)
    out = world.exchange(world.inputs())
    assert torch.equal(out[0].mean, out[2].mean)


CODED = [
    TopK(0.05) | Golomb(),
    TopK(0.2) | Bitmap(),
    TopK(0.05) | QSGD(4) | Elias(),
    Threshold(2.0) | Varint(),
    QSGD(4) | Huffman(),
    QSGD(2) | ZeroRun(),
    Natural() | Huffman(),
    KLevel(16) | Elias(),
    ThreeLC() | Huffman(),
]


def asked_message(coded: Coded, numel: int) -> tuple[object, Tensor]:
    """An exchange that waits for everyone's messages, and its own."""
    spec, seat = one_tensor(numel), Seat(0, 1, AllReduce(route_by="gather"))
    program = coded.exchange(noise(numel, 3), coded.init(spec, seat), spec, Turn(seat, 0))
    lengths = program.send(None)
    request = program.send([lengths.message])
    return program, request.message


@pytest.mark.parametrize("coded", CODED, ids=str)
def test_any_bit_that_is_turned_on_the_way_is_noticed(coded: Coded):
    _, message = asked_message(coded, 600)
    step = max(1, message.numel() // 60)
    for at in range(HEADER_BYTES, message.numel(), step):
        program, again = asked_message(coded, 600)
        again[at] ^= 1 << (at % 8)
        with pytest.raises(PayloadError):
            program.send([again])  # type: ignore[attr-defined]


@pytest.mark.parametrize("coded", CODED, ids=str)
def test_without_its_checksum_a_damaged_body_is_refused_or_has_the_right_shape(coded: Coded):
    x, n = noise(600, 4), 600
    good = body(coded, x)
    refused = 0
    for at in range(8 * min(good.numel(), 150)):
        bad = good.clone()
        bad[at // 8] ^= 1 << (at % 8)
        try:
            assert read(coded, bad, n).shape == (n,)
        except PayloadError:
            refused += 1
    assert refused >= 60  # most bits of the head, at least


@pytest.mark.parametrize("coded", CODED, ids=str)
def test_a_body_that_is_cut_or_too_long_is_refused(coded: Coded):
    good = body(coded, noise(600, 5))
    for size in range(good.numel()):
        with pytest.raises(PayloadError):
            read(coded, good[:size], 600)
    with pytest.raises(PayloadError):
        read(coded, torch.cat([good, good[:1]]), 600)


def test_a_head_that_asks_for_much_is_refused_before_memory_is():
    coded = Threshold(2.0) | Golomb()
    bad = body(coded, noise(600, 6)).clone()
    for count in (601, -1, 2**31 - 1):
        bad[:4] = torch.tensor([count], dtype=torch.int32).view(torch.uint8)
        with pytest.raises(PayloadError, match="speaks of"):
            read(coded, bad, 600)

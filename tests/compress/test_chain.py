from __future__ import annotations

import pytest
import torch

from laconic.coding import Golomb, Huffman
from laconic.compress import DGC, QSGD, STC, Chain, Fp16, Majority, RandomK, Sign, TopK
from laconic.core.bucket import one_tensor
from laconic.core.errors import PayloadError, PlanError
from laconic.core.exchange import Seat, Turn
from laconic.topology import AllReduce
from tests.laws.world import World

SIX = one_tensor(6)


def test_the_bar_builds_a_chain():
    assert TopK(0.1) | QSGD(4) == Chain(TopK(0.1), QSGD(4))


def test_the_largest_two_with_one_magnitude():
    x = torch.tensor([0.1, -4.0, 0.0, 2.0, 0.3, 1.0])
    (out,) = World(TopK(1 / 3) | Sign(), 1, "gather", SIX).exchange([x])
    assert out.mean.tolist() == [0, -3, 0, 3, 0, 0]


def test_values_in_half_precision():
    x = torch.tensor([0.0, 2049.0, 0.0, 0.0, 0.0, -1.0])
    (out,) = World(TopK(1 / 3) | Fp16(), 1, "gather", SIX).exchange([x])
    assert out.mean.tolist() == [0, 2048, 0, 0, 0, -1]


def test_bits_are_those_of_indices_and_codes():
    assert (TopK(0.5) | QSGD(4)).payload_bits(one_tensor(100)) == 8 * 13 + 50 * 4 + 32  # half of all: a bitmap
    assert (RandomK(0.5) | QSGD(4)).payload_bits(one_tensor(100)) == 50 * 4 + 32  # no indices
    assert (TopK(0.5) | Fp16()).payload_bits(one_tensor(100)) == 8 * 13 + 50 * 16


def test_a_contraction_of_a_contraction():
    assert (TopK(0.5) | Sign()).traits(one_tensor(100)).delta == pytest.approx(0.5 / 50)


def test_variances_of_unbiased_parts_combine():
    spec = one_tensor(100)
    a, b = RandomK(0.5).traits(spec).omega, QSGD(4).traits(one_tensor(50)).omega
    assert a is not None
    assert b is not None
    assert (RandomK(0.5) | QSGD(4)).traits(spec).omega == pytest.approx(a * b + a + b)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (QSGD(), TopK()),
        (QSGD(), Sign()),
        (TopK(), TopK()),
        (TopK(0.1) | Fp16(), Fp16()),
        (TopK(), TopK() | Fp16()),
        (TopK(), QSGD() | Huffman()),
        (TopK(), STC()),
    ],
)
def test_what_cannot_be_chained_is_refused(first: object, then: object):
    with pytest.raises(PlanError, match="Use for example"):
        Chain(first, then)  # type: ignore[arg-type]


def test_an_index_damaged_on_the_way_is_noticed():
    chain, seat = TopK(0.5) | Fp16(), Seat(0, 1, AllReduce(route_by="gather"))
    program = chain.exchange(torch.ones(6), chain.init(SIX, seat), SIX, Turn(seat, 0))
    request = program.send(None)
    request.message[-1] = 0x7F  # the indices, here a bitmap: more than three elements
    with pytest.raises(PayloadError, match="does not name 3 of 6 elements"):
        program.send([request.message])


def test_a_memory_of_its_own_is_not_lost_behind_a_bar():
    with pytest.raises(PlanError, match="keeps a memory of its own"):
        DGC(0.01) | QSGD()
    with pytest.raises(PlanError, match="keeps a memory of its own"):
        DGC(0.01) | Golomb()


def test_a_vote_cannot_write_values_of_different_elements():
    with pytest.raises(PlanError, match="cannot vote"):
        TopK(0.1) | Majority()

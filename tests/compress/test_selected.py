from __future__ import annotations

import pytest
import torch

from laconic.compress import QSGD, ErrorFeedback, RedSync, Threshold
from laconic.compress.base import Size
from laconic.core.bucket import one_tensor
from laconic.core.errors import PayloadError
from laconic.core.exchange import Seat, Turn
from laconic.core.payload import HEADER_BYTES
from laconic.kernels import rising_bytes
from laconic.topology import AllReduce
from tests.laws.world import World

SIX = one_tensor(6)


def test_ranks_may_say_different_numbers_of_elements():
    xs = [torch.tensor([4.0, 0, 0, 0, 0, 0]), torch.zeros(6), torch.tensor([2.0, 3, 4, 5, 6, 7])]
    for route in ("gather", "deal"):
        out = World(Threshold(1), 3, route, SIX).exchange([x.clone() for x in xs])
        assert torch.allclose(out[0].mean, torch.stack(xs).mean(0))
        assert [o.sent.tolist() for o in out] == [x.tolist() for x in xs]


def test_an_owner_remembers_what_is_too_small_to_be_said_again():
    world = World(ErrorFeedback(Threshold(2)), 2, "deal", one_tensor(2))
    world.exchange([torch.tensor([3.0, 0]), torch.zeros(2)])
    assert world.states[0].inner.error.tolist() == [1.5]
    out = world.exchange([torch.zeros(2), torch.tensor([2.0, 0])], 1)
    assert out[1].mean.tolist() == [2.5, 0]


def test_a_count_that_does_not_fit_is_refused():
    seat = Seat(0, 1, AllReduce(route_by="gather"))
    t = Threshold(1)
    program = t.exchange(torch.ones(6), t.init(SIX, seat), SIX, Turn(seat, 0))
    length = program.send(None).message
    message = program.send([length]).message
    message[HEADER_BYTES - 8] = 9  # aux: nine of six
    with pytest.raises(PayloadError, match="9 elements or blocks of 6"):
        program.send([message])


def test_a_chain_is_as_long_as_its_selection():
    chain = RedSync(0.05) | QSGD(4)
    assert chain.traits(one_tensor(100)).size is Size.MOST
    assert chain.traits(one_tensor(100)).rounds == 2
    assert chain.payload_bits(one_tensor(100)) == 8 * rising_bytes(100, 10) + 10 * 4 + 32  # indices, codes, a scale
    assert chain.message_bytes(100, 7) == HEADER_BYTES + rising_bytes(100, 7) + 4 + 4


def test_the_most_a_selection_can_say_is_never_more_than_the_dense_bucket():
    assert RedSync(0.5).payload_bits(one_tensor(100)) == 100 * 32
    assert RedSync(0.01).payload_bits(one_tensor(1000)) == 20 * 32 + 8 * rising_bytes(1000, 20)

from __future__ import annotations

import pytest
import torch

from laconic.compress import TopK
from laconic.compress.base import Draw
from laconic.core import rng
from laconic.core.bucket import one_tensor
from laconic.core.errors import PayloadError
from tests.laws.world import World

SIX = one_tensor(6)
DRAW = Draw(rng.Stream(1), rng.Stream(2))


def test_topk_keeps_the_largest_exactly():
    x = torch.tensor([0.1, -5.0, 0.0, 3.0, -0.2, 1.0])
    (out,) = World(TopK(1 / 3), 1, "gather", SIX).exchange([x])
    assert out.mean.tolist() == [0, -5, 0, 3, 0, 0]


def test_the_mean_of_two_sparse_messages():
    a = torch.tensor([4.0, 0, 0, 0, 0, 0.5])
    b = torch.tensor([2.0, 0, 0, 0, 1.0, 0.5])
    out = World(TopK(1 / 6), 2, "gather", SIX).exchange([a, b])
    assert out[0].mean.tolist() == [3, 0, 0, 0, 0, 0]
    assert out[1].sent.tolist() == [2, 0, 0, 0, 0, 0]


def test_topk_writes_32_bit_values_and_a_bitmap_where_that_is_shortest():
    aux, (values, at) = TopK(0.5).encode(torch.tensor([0.0, 7.0, -8.0, 1.0]), DRAW)
    assert aux == 2
    assert (at.dtype, values.dtype) == (torch.uint8, torch.float32)
    assert at.tolist() == [0b0110]
    assert values.tolist() == [7.0, -8.0]
    assert TopK(0.5).payload_bits(one_tensor(4)) == 2 * 32 + 8


def test_one_in_a_hundred_takes_little_more_than_five_bytes():
    assert TopK(0.01).payload_bits(one_tensor(1_000_000)) / 8 / 10_000 < 5.07


def test_dealt_topk_keeps_the_largest_of_each_chunk():
    x = torch.tensor([9.0, 8.0, 7.0, 1.0, 2.0, 3.0])
    out = World(TopK(1 / 3), 2, "deal", SIX).exchange([x, x.clone()])
    assert out[0].mean.tolist() == [9, 0, 0, 0, 0, 3]


def test_a_hostile_message_cannot_write_outside_the_bucket():
    for said in (0b0111, 0b11_0000, 0b0001):
        with pytest.raises(PayloadError, match="does not name 2 of 4 elements"):
            TopK(0.5).decode((torch.tensor([1.0, 1.0]), torch.tensor([said], dtype=torch.uint8)), 4, 2, DRAW)

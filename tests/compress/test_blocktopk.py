from __future__ import annotations

import pytest
import torch

from laconic.compress import BlockTopK
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.kernels import rising_bytes
from tests.laws.world import World
from tests.zoo import noise


def test_the_block_of_largest_norm_is_said_whole():
    x = torch.tensor([3.0, 0, 0, 2, 2, 2, 1])  # norms 3, sqrt 8, sqrt 5
    (out,) = World(BlockTopK(0.3, block=3), 1, "gather", one_tensor(7)).exchange([x])
    assert out.sent.tolist() == [0, 0, 0, 2, 2, 2, 0]


def test_a_short_last_block_may_be_the_largest():
    (out,) = World(BlockTopK(0.3, block=3), 1, "gather", one_tensor(7)).exchange([torch.arange(7.0) ** 3])
    assert out.sent.tolist() == [0] * 6 + [216]
    assert float(out.sent.norm()) == 216


@pytest.mark.parametrize("salt", range(3))
def test_k_of_m_blocks_keep_at_least_k_of_m_of_the_norm(salt: int):
    x = noise(640, salt)
    (out,) = World(BlockTopK(0.25, block=16), 1, "gather", one_tensor(640)).exchange([x.clone()])
    assert out.sent.count_nonzero() == 160
    assert float(out.sent.pow(2).sum()) >= 0.25 * float(x.pow(2).sum())


def test_one_index_a_block():
    assert BlockTopK(0.01, block=256).payload_bits(one_tensor(256 * 1000)) == 8 * rising_bytes(1000, 10) + 10 * 256 * 32


def test_bad_settings_are_refused():
    with pytest.raises(PlanError, match="above 0 and at most 1"):
        BlockTopK(0)
    with pytest.raises(PlanError, match="whole number of elements"):
        BlockTopK(0.1, block=0)

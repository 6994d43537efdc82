from __future__ import annotations

import torch

from laconic.compress import NUQSGD, Dithering
from laconic.core.bucket import one_tensor
from tests.laws.world import World
from tests.zoo import noise


def test_it_is_natural_dithering_with_the_l2_norm():
    x = noise(300)
    for step in range(5):
        (a,) = World(NUQSGD(4, block=64), 1, "gather", one_tensor(300)).exchange([x], step)
        (b,) = World(Dithering(4, block=64, norm="l2"), 1, "gather", one_tensor(300)).exchange([x], step)
        assert torch.equal(a.mean, b.mean)


def test_levels_go_down_to_two_to_the_minus_s():
    assert NUQSGD(4).magnitudes[:2] == (0.0, 2.0**-6)  # s = 2^3 - 2


def test_four_bits_and_a_norm_a_block():
    assert NUQSGD().payload_bits(one_tensor(256)) == 4 * 256 + 32

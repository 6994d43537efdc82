from __future__ import annotations

import pytest
import torch

from laconic.compress import MinMax
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise


def test_two_bits_are_four_even_levels_between_the_ends():
    x = torch.tensor([-1.0, 2.0, 0.4, 0.6])
    (out,) = World(MinMax(2), 1, "gather", one_tensor(4)).exchange([x])
    assert out.mean.tolist() == pytest.approx([-1.0, 2.0, 0.0, 1.0], abs=1e-6)


def test_equal_elements_are_exact():
    x = torch.full((20,), 0.1)
    (out,) = World(MinMax(1), 1, "gather", one_tensor(20)).exchange([x])
    assert torch.equal(out.mean, x)


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_no_element_is_off_by_more_than_half_a_step(bits: int):
    x = noise(512)
    (out,) = World(MinMax(bits), 1, "gather", one_tensor(512)).exchange([x])
    half_step = float(x.max() - x.min()) / (2 * (2**bits - 1))
    assert float((out.mean - x).abs().max()) <= half_step * (1 + 1e-5)


def test_small_gradients_are_as_exact_as_large_ones():
    x = noise(512)
    for scale in (1e-30, 1e-8, 1e30):
        (out,) = World(MinMax(8), 1, "gather", one_tensor(512)).exchange([x * scale])
        assert float((out.mean / scale - x).abs().max()) <= float(x.max() - x.min()) / 509


def test_one_bit_of_many_elements_promises_nothing():
    assert MinMax(1).traits(one_tensor(512)).delta is None
    assert MinMax(8).traits(one_tensor(512)).delta == 1 - 510 / (2 * 255**2)


def test_eight_bits_and_two_ends_a_block():
    assert MinMax().payload_bits(one_tensor(1024)) == 8 * 1024 + 2 * 64


def test_nine_bits_are_refused():
    with pytest.raises(PlanError, match="1 to 8"):
        MinMax(9)

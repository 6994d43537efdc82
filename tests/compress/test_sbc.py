from __future__ import annotations

import pytest
import torch

from laconic.compress import SBC
from laconic.compress.base import Draw
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.core.rng import Stream
from tests.laws.world import World
from tests.zoo import noise

DRAW = Draw(Stream(1), Stream(2))


def test_the_side_of_larger_mean_is_said():
    x = torch.tensor([3.0, 1.0, 0, -4.0, -2.0, 0])
    (out,) = World(SBC(1 / 3), 1, "gather", one_tensor(6)).exchange([x])
    assert out.sent.tolist() == [0, 0, 0, -3, -3, 0]
    (out,) = World(SBC(1 / 3), 1, "gather", one_tensor(6)).exchange([-x])
    assert out.sent.tolist() == [0, 0, 0, 3, 3, 0]


@pytest.mark.parametrize("salt", range(4))
def test_there_is_one_magnitude_and_the_error_is_the_norm_less_k_mu_squared(salt: int):
    x = noise(300, salt)
    _, parts = SBC(0.1).encode(x, DRAW)
    said = SBC(0.1).decode(parts, 300, 30, DRAW)
    assert said.unique().numel() == 2  # 0 and mu
    left = float((x - said).double().pow(2).sum())
    assert left == pytest.approx(float(x.double().pow(2).sum()) - 30 * float(parts[0]) ** 2, rel=1e-5)


def test_an_index_each_and_one_value():
    assert SBC(0.01).payload_bits(one_tensor(1000)) == 32 + 10 * 32


def test_more_places_than_positive_elements_dilute_the_mean_but_never_flip_it():
    (out,) = World(SBC(1), 1, "gather", one_tensor(4)).exchange([torch.tensor([4.0, -1, -1, -1])])
    assert out.sent.tolist() == [0.25] * 4


def test_a_share_outside_zero_to_one_is_refused():
    with pytest.raises(PlanError, match="above 0 and at most 1"):
        SBC(2)

from __future__ import annotations

import pytest
import torch

from laconic.compress import Drive, Eden
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise


def test_it_is_eden_with_one_bit():
    x = noise(300)
    for scale in ("unbiased", "mse"):
        (a,) = World(Drive(64, scale), 1, "gather", one_tensor(300)).exchange([x])
        (b,) = World(Eden(1, 64, scale), 1, "gather", one_tensor(300)).exchange([x])
        assert torch.equal(a.mean, b.mean)


def test_a_spike_is_said_exactly():
    x = torch.zeros(64)
    x[11] = -3.0
    (out,) = World(Drive(64), 1, "gather", one_tensor(64)).exchange([x])
    assert torch.allclose(out.mean, x, atol=1e-5)


def test_one_bit_an_element():
    assert Drive().payload_bits(one_tensor(1 << 16)) == (1 << 16) + 16 * 32 + 32


def test_a_scale_that_is_none_is_refused():
    with pytest.raises(PlanError, match="'unbiased', or 'mse'"):
        Drive(scale="best")

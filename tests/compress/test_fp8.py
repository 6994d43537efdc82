from __future__ import annotations

import pytest
import torch

from laconic.compress import Fp8
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise


def test_the_largest_element_is_exact_and_others_keep_four_digits_of_two():
    x = torch.tensor([448.0, 17.0, -240.0, 0.0])
    (out,) = World(Fp8(), 1, "gather", one_tensor(4)).exchange([x])
    assert out.mean.tolist() == [448.0, 16.0, -240.0, 0.0]  # between 16 and 18, to even


@pytest.mark.parametrize(("format_", "roundoff"), [("e4m3", 2.0**-4), ("e5m2", 2.0**-3)])
def test_the_relative_error_is_that_of_the_format(format_: str, roundoff: float):
    x = noise(1024) + 0.01
    (out,) = World(Fp8(format_), 1, "gather", one_tensor(1024)).exchange([x])
    normal = x.abs() > x.abs().max() * 2.0**-13
    assert float(((out.mean - x) / x).abs()[normal].max()) <= roundoff * (1 + 1e-5)


def test_infinity_is_never_made():
    x = torch.full((9,), 3.4e38)
    (out,) = World(Fp8(), 1, "gather", one_tensor(9)).exchange([x])
    assert torch.equal(out.mean, x)


def test_a_byte_an_element_and_a_scale_a_block():
    assert Fp8().payload_bits(one_tensor(2048)) == 8 * 2048 + 64


def test_a_format_that_is_none_is_refused():
    with pytest.raises(PlanError, match="e4m3"):
        Fp8("e3m4")

from __future__ import annotations

import pytest
import torch

from laconic.compress.rotation import rotate, rotate_back
from laconic.core.rng import Stream
from tests.zoo import noise


@pytest.mark.parametrize("n", [1, 2, 3, 63, 64, 65, 200])
def test_rotating_back_undoes_it(n: int):
    x = noise(n)
    assert torch.allclose(rotate_back(rotate(x, Stream(4), 64), Stream(4), n), x, atol=1e-6)


def test_the_norm_stays():
    x = noise(128)
    (z,) = rotate(x, Stream(4), 128)
    assert float(z.norm() * 128**0.5) == pytest.approx(float(x.norm()), rel=1e-6)


def test_a_spike_becomes_flat():
    x = torch.zeros(8)
    x[3] = 16.0
    (z,) = rotate(x, Stream(4), 8)
    assert z.abs().tolist() == [[2.0] * 8]  # 16 / 8


def test_the_largest_numbers_do_not_overflow():
    x = torch.full((64,), 3e38)
    assert rotate(x, Stream(4), 64)[0].isfinite().all()
    assert rotate_back(rotate(x, Stream(4), 64), Stream(4), 64).isfinite().all()

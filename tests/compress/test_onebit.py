from __future__ import annotations

import pytest
import torch

from laconic.compress import OneBit
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise


def _said(x: list[float], block: int = 512) -> list[float]:
    (out,) = World(OneBit(block), 1, "gather", one_tensor(len(x))).exchange([torch.tensor(x)])
    return out.mean.tolist()


def test_each_sign_stands_for_the_mean_of_its_class():
    assert _said([-1.0, -2.0, 3.0, 5.0]) == [-1.5, -1.5, 4.0, 4.0]


def test_zero_is_one_of_the_positive_ones():
    assert _said([0.0, 4.0, -1.0, -3.0]) == [2.0, 2.0, -2.0, -2.0]


def test_all_positive_decodes_to_the_mean():
    assert _said([1.0, 2.0, 3.0, 6.0]) == [3.0] * 4


def test_the_last_block_has_means_of_its_own_length():
    assert _said([1.0] * 8 + [6.0, -2.0, -4.0], block=8) == [1.0] * 8 + [6.0, -3.0, -3.0]


def test_what_is_lost_is_what_the_means_do_not_explain():
    x = noise(500)
    (out,) = World(OneBit(), 1, "gather", one_tensor(500)).exchange([x])
    up = x >= 0
    explained = sum(m.numel() * float(m.mean()) ** 2 for m in (x[up], x[~up]))
    lost = float((x - out.sent).double().pow(2).sum())
    assert lost == pytest.approx(float(x.double().pow(2).sum()) - explained, rel=1e-5)


def test_one_bit_and_two_means_a_block():
    assert OneBit(block=512).payload_bits(one_tensor(1024)) == 1024 + 2 * 64
    assert OneBit().payload_bits(one_tensor(1 << 20)) < 1.05 * (1 << 20)


def test_blocks_that_do_not_fill_bytes_are_refused():
    with pytest.raises(PlanError, match="multiple of 8"):
        OneBit(block=12)

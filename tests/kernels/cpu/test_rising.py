from __future__ import annotations

import pytest
import torch
from torch import Tensor

from laconic.core.rng import Stream
from laconic.kernels import reference
from laconic.kernels.cpu import rising

CASES = [(1, 1), (2, 1), (9, 9), (1000, 0), (1000, 1), (1000, 10), (1000, 500), (1000, 999), (70_001, 700), (2**31, 5)]


def indices(numel: int, k: int) -> Tensor:
    """Any k, the first and the last among them."""
    ends = [0, numel - 1][:k]
    if numel > 10_000_000:
        return torch.tensor([*ends, 1, 70, 2**30][:k]).sort().values
    at = Stream(k).choice(numel, k)
    at[-1:] = numel - 1
    return at


@pytest.mark.parametrize(("numel", "k"), CASES)
def test_the_compiled_stream_is_the_plain_one_and_comes_back(numel: int, k: int):
    at = indices(numel, k)
    stream = reference.rising_pack(at, numel)
    assert stream.numel() == reference.rising_bytes(numel, k)
    assert torch.equal(rising.rising_pack(at, numel), stream)
    for read in (reference.rising_unpack, rising.rising_unpack):
        back = read(stream, k, numel)
        assert back is not None
        assert torch.equal(back, at.to(torch.int32))


def test_the_worked_example():
    """n = 64, k = 2: b = 4; indices 1 and 40 are u = 1, 39: low parts 1 and 7, high parts 0 and 2, so bits 0 and 3."""
    assert reference.rising_pack(torch.tensor([1, 40]), 64).tolist() == [0x71, 0b1001]


def test_one_in_a_hundred_takes_eight_and_a_half_bits():
    assert 8 * reference.rising_bytes(1_000_000, 10_000) / 10_000 == pytest.approx(8.546, abs=2e-3)


def test_a_bitmap_is_never_shorter():
    assert all(reference.rising_bytes(1000, k) <= 125 for k in range(1001))


def test_any_damage_is_noticed_or_names_other_elements_in_order():
    at, numel = indices(1000, 10), 1000
    stream = reference.rising_pack(at, numel)
    for bit in range(8 * stream.numel()):
        hurt = stream.clone()
        hurt[bit // 8] ^= 1 << bit % 8
        slow, fast = (read(hurt, 10, numel) for read in (reference.rising_unpack, rising.rising_unpack))
        assert (slow is None) == (fast is None), bit
        if slow is not None and fast is not None:
            assert torch.equal(slow, fast)
            assert (slow.diff() > 0).all()
            assert slow.min() >= 0
            assert slow.max() < numel


@pytest.mark.parametrize("fill", [0, 255])
def test_all_zeros_and_all_ones_are_refused(fill: int):
    stream = torch.full((reference.rising_bytes(1000, 10),), fill, dtype=torch.uint8)
    assert reference.rising_unpack(stream, 10, 1000) is None
    assert rising.rising_unpack(stream, 10, 1000) is None

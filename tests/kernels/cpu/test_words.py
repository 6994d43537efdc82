"""Lanes of words compiled = in plain torch; and they hold their sums."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from laconic.kernels import reference
from laconic.kernels.cpu import words
from tests.kernels.parity import SIZES


@pytest.mark.parametrize("kernel", [reference, words], ids=["plain", "compiled"])
@given(codes=st.lists(st.integers(0, 6), max_size=60), world=st.integers(1, 9))
def test_lanes_hold_their_sums(kernel: ModuleType, codes: list[int], world: int):
    most, k = 6 * world, torch.tensor(codes, dtype=torch.uint8)
    added = sum((kernel.join_lanes(k, most, 3) for _ in range(world)), torch.zeros(1, dtype=torch.int64))
    assert kernel.split_lanes(added, most, 3 * world, len(codes)).tolist() == [world * c for c in codes]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 14, 255, 254 * 8, 254 * 1000])
def test_words_are_those_of_the_reference(most: int):
    for n in SIZES:
        codes = (torch.arange(n) * 7919 % (min(most, 254) + 1)).to(torch.uint8)
        shift = (min(most, 254) + 1) // 2
        mine = words.join_lanes(codes, most, shift)
        assert torch.equal(mine, reference.join_lanes(codes, most, shift)), n
        back = words.split_lanes(mine, most, shift, n)
        assert torch.equal(back, reference.split_lanes(mine, most, shift, n)), n
        assert torch.equal(back, codes.to(torch.int32)), n

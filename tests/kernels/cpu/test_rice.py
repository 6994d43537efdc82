"""Rice codes: compiled = plain torch, their own inverse, close to the entropy, and hard to fool."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from laconic.core.errors import PayloadError
from laconic.core.rng import Stream
from laconic.kernels import reference
from laconic.kernels.cpu import rice

CASES = [(10, 0), (10, 3), (5, 5), (1000, 10), (100_000, 1), (100_000, 1000), (100_000, 50_000), (3_000_000, 3000)]


def indices(numel: int, k: int) -> Tensor:
    return Stream(numel + k).choice(numel, k).to(torch.int32)


def test_four_gaps_by_hand():
    # 1, 2, 4, 9: gaps 1, 0, 1, 4; 0.69 times their mean is 1, so k = 0: as many ones as the gap, and a zero.
    stream = "10" + "0" + "10" + "11110"
    want = [0, int(stream[:8][::-1], 2), int(stream[8:][::-1], 2)]
    assert rice.rice_pack(torch.tensor([1, 2, 4, 9], dtype=torch.int32)).tolist() == want


def test_a_parameter_splits_gaps():
    # 10, 30: gaps 10, 19; 0.69 * 29 // 2 = 10, so k = 3: 10 = 1 | 010, 19 = 2 | 011 (low bits first).
    stream = "10" + "010" + "110" + "110"
    want = [3, int(stream[:8][::-1], 2), int(stream[8:][::-1], 2)]
    assert rice.rice_pack(torch.tensor([10, 30], dtype=torch.int32)).tolist() == want


@pytest.mark.parametrize(("numel", "k"), CASES)
def test_bytes_are_those_of_the_reference_and_come_back(numel: int, k: int):
    at = indices(numel, k)
    packed = rice.rice_pack(at)
    assert torch.equal(packed, reference.rice_pack(at))
    assert torch.equal(rice.rice_unpack(packed, k, numel), at)
    assert torch.equal(reference.rice_unpack(packed, k, numel), at)


def test_the_farthest_index_there_is():
    at = torch.tensor([0, 1, 2, 2**31 - 2], dtype=torch.int32)
    packed = rice.rice_pack(at)
    assert torch.equal(packed, reference.rice_pack(at))
    assert torch.equal(rice.rice_unpack(packed, 4, 2**31 - 1), at)


def test_one_in_a_hundred_needs_little_more_than_its_entropy():
    at = indices(3_000_000, 30_000)
    assert 8 * rice.rice_pack(at).numel() / 30_000 < 8.08 + 0.25


def outcome(unpack: object, packed: Tensor, k: int, numel: int) -> list[int] | None:
    try:
        return unpack(packed, k, numel).tolist()  # type: ignore[operator, no-any-return]
    except PayloadError:
        return None


def test_damaged_bytes_are_refused_or_give_valid_indices_alike():
    at, numel = indices(100_000, 700), 100_000
    packed = rice.rice_pack(at)
    for n, flip in enumerate(Stream(1).words(200).tolist()):
        damaged = packed.clone()
        damaged[flip % packed.numel()] ^= 1 << (n % 8)
        mine = outcome(rice.rice_unpack, damaged, 700, numel)
        assert mine == outcome(reference.rice_unpack, damaged, 700, numel)
        if mine is not None:
            assert mine == sorted(set(mine))
            assert mine[-1] < numel


@pytest.mark.parametrize("size", [0, 1, 2, 100])
def test_bytes_that_end_too_soon_are_refused(size: int):
    packed = rice.rice_pack(indices(100_000, 700))[:size]
    for unpack in (rice.rice_unpack, reference.rice_unpack):
        with pytest.raises(PayloadError, match="700 ascending indices"):
            unpack(packed, 700, 100_000)


def test_bytes_too_many_are_refused():
    packed = torch.cat([rice.rice_pack(indices(100_000, 700)), torch.zeros(1, dtype=torch.uint8)])
    for unpack in (rice.rice_unpack, reference.rice_unpack):
        with pytest.raises(PayloadError, match="damaged"):
            unpack(packed, 700, 100_000)

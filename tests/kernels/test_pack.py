"""Packing by hand, and for any codes: little-endian, dense, and its own inverse."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from laconic.kernels import reference as kernel


def _codes(values: list[int]) -> Tensor:
    return torch.tensor(values, dtype=torch.uint8)


@pytest.mark.parametrize(
    ("bits", "codes", "packed"),
    [
        (1, [1, 0, 1, 1, 0, 0, 0, 0, 1], [0b00001101, 0b1]),
        (2, [3, 0, 1, 2, 1], [0b10_01_00_11, 0b01]),
        (4, [0xA, 0x1, 0xF], [0x1A, 0x0F]),
        (3, [0b101, 0b011, 0b110], [0b10_011_101, 0b1]),
        (5, [0b10001, 0b00111], [0b111_10001, 0b00]),
        (8, [200, 7], [200, 7]),
    ],
)
def test_packing_by_hand(bits: int, codes: list[int], packed: list[int]):
    assert kernel.pack(_codes(codes), bits).tolist() == packed
    assert kernel.unpack(_codes(packed), bits, len(codes)).tolist() == codes


@given(bits=st.integers(1, 8), data=st.data())
def test_unpacking_undoes_packing(bits: int, data: st.DataObject):
    codes = data.draw(st.lists(st.integers(0, 2**bits - 1), max_size=70))
    packed = kernel.pack(_codes(codes), bits)
    assert packed.numel() == kernel.packed_bytes(len(codes), bits) == -(-len(codes) * bits // 8)
    assert packed.dtype == torch.uint8
    assert kernel.unpack(packed, bits, len(codes)).tolist() == codes


@given(bits=st.integers(1, 8), data=st.data())
def test_code_j_stands_at_bit_jb_of_the_stream(bits: int, data: st.DataObject):
    codes = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=40))
    stream = int.from_bytes(bytes(kernel.pack(_codes(codes), bits).tolist()), "little")
    assert [(stream >> (bits * j)) & (2**bits - 1) for j in range(len(codes))] == codes


@pytest.mark.parametrize("bits", range(1, 9))
def test_packing_leaves_its_input_alone(bits: int):
    codes = (torch.arange(20) % 2**bits).to(torch.uint8)
    before = codes.clone()
    kernel.pack(codes, bits)
    assert torch.equal(codes, before)


def test_blocks_fill_the_last_row_with_zeros():
    assert kernel.blocks(torch.tensor([1.0, 2.0, 3.0]), 2).tolist() == [[1, 2], [3, 0]]
    assert kernel.blocks(torch.empty(0), 4).shape == (0, 4)


def test_the_largest_by_magnitude_in_order_of_position():
    x = torch.tensor([0.5, -3.0, 0.0, 2.0, -0.1])
    assert kernel.largest(x, 2).tolist() == [1, 3]
    assert kernel.largest(x, 0).tolist() == []
    assert kernel.largest(x, 5).tolist() == [0, 1, 2, 3, 4]

"""Base 3 compiled = in plain torch, bit for bit."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from laconic.kernels import reference
from laconic.kernels.cpu import pool, trits
from tests.kernels.parity import SIZES, STREAM, same_bits, vectors
from tests.zoo import noise


def test_five_codes_a_byte_by_hand():
    packed = reference.pack_trits(torch.tensor([2, 1, 0, 1, 2, 1], dtype=torch.uint8))
    assert packed.tolist() == [2 + 0 * 3 + 2 * 9, 1 + 1 * 3 + 1 * 9]  # two lanes: codes 0, 2, 4 and 1, 3, 5
    assert reference.unpack_trits(packed, 6).tolist() == [2, 1, 0, 1, 2, 1]


@pytest.mark.parametrize("n", [0, 1, 4, 5, 6, 2559, 2560, 2561, 6001])
def test_unpacking_undoes_packing(n: int):
    codes = (torch.arange(n) * 7 % 3).to(torch.uint8)
    packed = reference.pack_trits(codes)
    assert packed.numel() == reference.trit_bytes(n) == -(-n // 5)
    assert torch.equal(reference.unpack_trits(packed, n), codes)


@pytest.mark.parametrize("n", [*SIZES, 2559, 2560, 2561])
def test_bytes_and_values_are_those_of_the_reference(n: int):
    for block in (8, 256, 1000, max(n, 1)):
        for what, x in vectors(n):
            scale = reference.scales(x, block, "max") * 0.5  # half of the largest: some are clipped
            mine = torch.full((reference.trit_bytes(n),), 9, dtype=torch.uint8)
            theirs = mine.clone()
            trits.ternary(x, scale, mine, STREAM, block)
            reference.ternary(x, scale, theirs, STREAM, block)
            assert torch.equal(mine, theirs), f"{what}, blocks of {block}"
            for name in ("ternary_unpack", "ternary_add"):
                a, b = noise(n, 8), noise(n, 8)
                getattr(trits, name)(a, scale, mine, block, 1 / 3)
                getattr(reference, name)(b, scale, theirs, block, 1 / 3)
                assert same_bits(a, b), f"{name}: {what}, blocks of {block}"


def test_bytes_that_no_writer_makes_are_read_alike():
    packed, scale = torch.arange(256, dtype=torch.uint8), torch.ones(1)
    a, b = torch.empty(1280), torch.empty(1280)
    trits.ternary_unpack(a, scale, packed, 1280, 1.0)
    reference.ternary_unpack(b, scale, packed, 1280, 1.0)
    assert torch.equal(a, b)


def test_any_number_of_threads_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch):
    x, scale = noise(40_003, 1), torch.tensor([2.0])
    alone, shared = torch.empty(2, reference.trit_bytes(40_003), dtype=torch.uint8)
    trits.ternary(x, scale, alone, STREAM, 40_003)
    monkeypatch.setattr(pool, "ENOUGH", 1000)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    trits.ternary(x, scale, shared, STREAM, 40_003)
    assert torch.equal(alone, shared)


@pytest.mark.parametrize("n", [*SIZES, 2559, 2560, 2561])
def test_nearest_levels_are_those_of_the_reference(n: int):
    for block in (8, 256, 1000, max(n, 1)):
        for what, x in vectors(n):
            edge = reference.scales(x, block, "max") * 0.5
            mine, theirs = torch.full((2, reference.trit_bytes(n)), 9, dtype=torch.uint8)
            trits.nearest_trits(x, edge, mine, block)
            reference.nearest_trits(x, edge, theirs, block)
            assert torch.equal(mine, theirs), f"{what}, blocks of {block}"


def test_nearest_levels_by_hand():
    packed = torch.empty(1, dtype=torch.uint8)
    trits.nearest_trits(torch.tensor([1.0, -1.0, 0.5, -0.6, 0.0]), torch.tensor([0.5]), packed, 8)
    assert reference.unpack_trits(packed, 5).tolist() == [2, 0, 1, 0, 1]  # the edge itself is none


BOTH = pytest.mark.parametrize("kernel", [reference, trits], ids=["plain", "compiled"])


@BOTH
def test_runs_of_zeros_by_hand(kernel: ModuleType):
    assert kernel.shorten_zero_runs(_bytes([5, 121, 7])).tolist() == [5, 121, 7]  # one is no run
    assert kernel.shorten_zero_runs(_bytes([121, 121, 7])).tolist() == [243, 7]
    assert kernel.shorten_zero_runs(_bytes([121] * 14 + [121])).tolist() == [255, 121]
    assert kernel.shorten_zero_runs(_bytes([121] * 30)).tolist() == [255, 255, 243]


@BOTH
@given(runs=st.lists(st.tuples(st.integers(0, 242), st.integers(0, 40)), max_size=12))
def test_restoring_undoes_shortening(kernel: ModuleType, runs: list[tuple[int, int]]):
    values = [b for value, zeros in runs for b in [value] + [121] * zeros]
    short = kernel.shorten_zero_runs(_bytes(values))
    assert short.numel() <= len(values)
    assert kernel.restore_zero_runs(short, len(values)).tolist() == values
    assert kernel.restore_zero_runs(short, len(values) + 1) is None
    assert not values or kernel.restore_zero_runs(short, len(values) - 1) is None


def _bytes(values: list[int]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.uint8)

"""The loops of quantizers by hand, and what they must undo."""

from __future__ import annotations

import pytest
import torch

from laconic.compress.eightbit import table
from laconic.kernels import reference_quant as quant
from tests.zoo import noise


def test_a_whole_number_is_never_rounded():
    a = torch.arange(-300.0, 300.0)
    for u in (0.0, 1 - 2.0**-24):
        assert torch.equal(quant.by_chance(a, torch.full_like(a, u)), a)


def test_rounding_by_chance_goes_up_below_the_fraction():
    a = torch.tensor([0.25, -0.25])
    assert quant.by_chance(a, torch.tensor([0.2, 0.7])).tolist() == [1.0, 0.0]
    assert quant.by_chance(a, torch.tensor([0.3, 0.8])).tolist() == [0.0, -1.0]


def test_entries_of_a_table_stay_and_others_go_to_a_neighbour():
    table = torch.tensor([-1.0, 0.0, 0.5, 1.0])
    assert quant.to_table(table, table, torch.full((4,), 0.999)).tolist() == [0, 1, 2, 3]
    assert quant.to_table(table, table, torch.zeros(4)).tolist() == [0, 1, 2, 3]
    between = torch.tensor([0.4, 0.4])
    assert quant.to_table(between, table, torch.tensor([0.79, 0.81])).tolist() == [2, 1]


def test_the_last_block_is_filled_with_its_last_element():
    assert quant.edge_blocks(torch.tensor([1.0, 2.0, 3.0]), 2).tolist() == [[1.0, 2.0], [3.0, 3.0]]


@pytest.mark.parametrize("scale", [1e-38, 1.0, 1e38])
def test_norms_neither_overflow_nor_vanish(scale: float):
    rows = torch.tensor([[3.0, 4.0], [0.0, 0.0]]) * (scale / 2)
    assert quant.l2_of(rows).tolist() == pytest.approx([2.5 * scale, 0.0])


def test_hadamard_by_hand():
    rows = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    assert quant.hadamard(rows).tolist() == [[10.0, -2.0, -4.0, 0.0]]
    assert quant.hadamard(torch.cat([rows, -rows])).tolist() == [[10.0, -2.0, -4.0, 0.0], [-10.0, 2.0, 4.0, 0.0]]


@pytest.mark.parametrize("count", [3, 41, 255])
def test_ranks_are_those_of_a_bisection(count: int):
    edges, values = torch.linspace(-1, 1, count), torch.linspace(-1.2, 1.2, 999)
    values = torch.cat([values, edges])  # an edge is not below itself
    assert quant.rank_in(values, edges).tolist() == torch.bucketize(values, edges).tolist()


@pytest.mark.parametrize("kind", ["dynamic", "linear", "float"])
def test_the_nearest_code_by_cells_is_the_nearest_code(kind: str):
    numbers = table(kind)
    middles = (numbers[1:] + numbers[:-1]) / 2
    ulps = [middles.nextafter(torch.tensor(edge)) for edge in (torch.inf, -torch.inf)]
    values = torch.cat([torch.linspace(-1, 1, 20_001), noise(5000) / 6, numbers, middles, *ulps, noise(500) * 1e-7])
    values = values.clamp(-1, 1)
    assert torch.equal(quant.nearest_by_cell(values, *quant.cells(numbers)), quant.nearest_in(values, numbers))


@pytest.mark.parametrize(("n", "out"), [(0, 0), (1, 1), (3, 4), (8, 8), (9, 9), (11, 12), (16, 16)])
def test_only_the_last_block_is_filled_up(n: int, out: int):
    assert quant.padded(n, 8) == out


def test_every_bit_of_a_word_is_a_sign():
    assert quant.signs(torch.tensor([0b101, 1 << 31]), 64).tolist() == [-1, 1, -1] + [1] * 29 + [1] * 31 + [-1]

from __future__ import annotations

import pytest
import torch

from laconic.compress import QSGD, Levels
from laconic.compress.levels import signed, variance
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World


def _said(table: str, x: torch.Tensor) -> set[tuple[float, ...]]:
    """In 40 steps."""
    world = World(Levels(table), 1, "gather", one_tensor(x.numel()))
    return {tuple(world.exchange([x], step)[0].mean.tolist()) for step in range(40)}


def test_an_element_goes_to_one_of_the_levels_around_it():
    x = torch.tensor([2.0, 0.5, -1.2, 0.0])  # relative to the largest: 1, 0.25, -0.6, 0
    said = {
        tuple(World(Levels("0 0.5 1"), 1, "gather", one_tensor(4)).exchange([x], s)[0].mean.tolist()) for s in range(40)
    }
    assert said == {(2.0, a, b, 0.0) for a in (0.0, 1.0) for b in (-1.0, -2.0)}


def test_without_a_zero_small_ones_go_to_the_lowest_level_of_either_sign():
    x = torch.tensor([1.0, 0.0])
    said = {
        tuple(World(Levels("0.25 1"), 1, "gather", one_tensor(2)).exchange([x], s)[0].mean.tolist()) for s in range(20)
    }
    assert said == {(1.0, 0.25), (1.0, -0.25)}


def test_even_levels_have_the_variance_of_qsgd_or_more():
    even = Levels("0 0.33333333333333331 0.66666666666666663 1", block=64)
    assert even.traits(one_tensor(64)).omega >= QSGD(3, block=64).traits(one_tensor(64)).omega


def test_the_table_has_both_signs():
    assert signed((0.0, 0.5, 1.0)) == (-1.0, -0.5, 0.0, 0.5, 1.0)
    assert signed((0.5, 1.0)) == (-1.0, -0.5, 0.5, 1.0)


def test_the_variance_by_hand():
    assert variance((0.0, 0.5, 1.0), 1, "max") == 1 / 8  # a single element is its own scale
    assert variance((0.0, 0.5, 1.0), 16, "l2") == 1 / 8 + 1.0  # 16 / 4 / 4
    assert variance((0.5, 1.0), 5, "max") == 1 / 8 + 1.0


def test_as_many_bits_as_the_table_needs():
    assert Levels("0 0.5 1").payload_bits(one_tensor(256)) == 3 * 256 + 32
    assert Levels("0.5 1").payload_bits(one_tensor(256)) == 2 * 256 + 32


@pytest.mark.parametrize("table", ["", "0 0.5", "1 0.5", "-1 1", "0 nought 1", "0.5 0.5 1"])
def test_a_table_that_is_none_is_refused(table: str):
    with pytest.raises(PlanError, match="levels"):
        Levels(table)


def test_more_levels_than_a_byte_can_name_are_refused():
    with pytest.raises(PlanError, match="more than 256"):
        Levels(" ".join(str(k / 128) for k in range(129)))

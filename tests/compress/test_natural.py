from __future__ import annotations

import pytest
import torch

from laconic.compress import Natural
from laconic.core.bucket import one_tensor
from tests.laws.world import World
from tests.zoo import noise


def _said(x: torch.Tensor, step: int = 0) -> torch.Tensor:
    return World(Natural(), 1, "gather", one_tensor(x.numel())).exchange([x], step)[0].mean


def test_powers_of_two_pass_and_others_go_to_a_neighbour():
    x = torch.tensor([4.0, -0.5, 0.0, 3.0, -6.0])
    said = {tuple(_said(x, step).tolist()) for step in range(40)}
    assert {s[:3] for s in said} == {(4.0, -0.5, 0.0)}
    assert {s[3:] for s in said} == {(2.0, -4.0), (2.0, -8.0), (4.0, -4.0), (4.0, -8.0)}


def test_the_worst_number_is_four_thirds_of_a_power_of_two():
    x = torch.full((20_000,), 4 / 3)
    said = _said(x)
    assert set(said.tolist()) == {1.0, 2.0}
    assert float(said.mean()) == pytest.approx(4 / 3, abs=0.02)
    assert float((said - x).pow(2).mean() / x.pow(2).mean()) == pytest.approx(1 / 8, rel=0.05)


def test_the_mantissa_is_empty():
    said = _said(noise(1000))
    assert not (said.view(torch.int32) & 0x7FFFFF).any()


def test_below_the_smallest_power_it_is_still_right_on_average():
    x = torch.full((40_000,), 2.0**-127)
    said = _said(x)
    assert set(said.tolist()) == {0.0, 2.0**-126}
    assert float((said / 2.0**-126).mean()) == pytest.approx(0.5, abs=0.02)


def test_there_is_no_power_of_two_above_the_largest():
    assert _said(torch.tensor([3e38, -3e38])).tolist() == [2.0**127, -(2.0**127)]


def test_nine_bits_an_element():
    assert Natural().payload_bits(one_tensor(800)) == 9 * 800

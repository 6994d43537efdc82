from __future__ import annotations

import pytest
import torch

from laconic.compress import EightBit
from laconic.compress.eightbit import farthest, table
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise

KINDS = ("dynamic", "linear", "float")


def _said(x: torch.Tensor, kind: str = "dynamic") -> torch.Tensor:
    return World(EightBit(kind), 1, "gather", one_tensor(x.numel())).exchange([x])[0].mean


@pytest.mark.parametrize(("kind", "count"), [("dynamic", 256), ("linear", 255), ("float", 255)])
def test_the_codes_fit_a_byte_and_have_zero_and_one(kind: str, count: int):
    numbers = table(kind).tolist()
    assert len(set(numbers)) == len(numbers) == count
    assert {0.0, 1.0} <= set(numbers)
    assert numbers == sorted(numbers)


def test_the_dynamic_tree_by_hand():
    numbers = table("dynamic").tolist()
    assert min(n for n in numbers if n > 0) == pytest.approx(5.5e-7)
    assert numbers[0] == pytest.approx(-(1 - 0.9 / 128))  # the middle of the highest of 64 parts
    assert farthest("dynamic") == pytest.approx(0.00703, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_every_code_comes_back_as_it_is(kind: str):
    assert torch.equal(_said(table(kind) * 2, kind), table(kind) * 2)


@pytest.mark.parametrize("kind", KINDS)
def test_no_element_is_off_by_more_than_the_codes_allow(kind: str):
    x = noise(2048)
    assert float((_said(x, kind) - x).abs().max()) <= float(x.abs().max()) * farthest(kind) * (1 + 1e-5)


def test_the_largest_element_is_exact_whatever_its_sign():
    assert _said(torch.tensor([0.1, -7.3])).tolist()[1] == pytest.approx(-7.3, rel=1e-7)


def test_zeros_are_exact_beside_other_numbers():
    assert _said(torch.tensor([0.0, 5.0, 0.0])).tolist() == [0.0, 5.0, 0.0]


def test_a_byte_an_element_and_a_scale_a_block():
    assert EightBit().payload_bits(one_tensor(4096)) == 8 * 4096 + 64


def test_codes_that_do_not_exist_are_refused():
    with pytest.raises(PlanError, match="dynamic, linear or float"):
        EightBit("static")

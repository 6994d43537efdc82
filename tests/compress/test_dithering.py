from __future__ import annotations

import math

import pytest
import torch

from laconic.compress import QSGD, Dithering
from laconic.compress.dithering import powers_of_two
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World


def test_levels_are_powers_of_two_below_the_scale():
    assert powers_of_two(3) == (0.0, 0.25, 0.5, 1.0)
    assert Dithering(3).magnitudes == powers_of_two(3)


def test_an_element_goes_to_the_power_above_or_below():
    x = torch.tensor([8.0, 3.0, -8.0])
    said = {World(Dithering(), 1, "gather", one_tensor(3)).exchange([x], s)[0].mean[1].item() for s in range(30)}
    assert said == {2.0, 4.0}


def test_two_bits_are_three_levels_of_qsgd():
    x = torch.tensor([1.0, 0.3, -0.8, 0.0, 0.5, -1.0, 0.9, 0.1])
    ours = [World(Dithering(2, block=8), 1, "gather", one_tensor(8)).exchange([x], s)[0].mean for s in range(100)]
    theirs = [World(QSGD(2, block=8), 1, "gather", one_tensor(8)).exchange([x], s)[0].mean for s in range(100)]
    assert set(torch.stack(ours).unique().tolist()) == set(torch.stack(theirs).unique().tolist()) == {-1.0, 0.0, 1.0}
    assert torch.stack(ours).mean(0).allclose(torch.stack(theirs).mean(0), atol=0.25)


@pytest.mark.parametrize(("bits", "norm"), [(3, "l2"), (3, "max"), (4, "l2"), (4, "max")])
def test_the_claim_is_no_weaker_than_that_of_the_paper(bits: int, norm: str):
    s, d = 2 ** (bits - 1) - 1, 256
    xi = math.sqrt(d) * 2.0 ** (1 - s)
    omega = Dithering(bits, norm=norm).traits(one_tensor(d)).omega
    assert omega is not None
    assert omega <= 1 / 8 + xi * min(1, xi)


def test_a_norm_that_is_none_is_refused():
    with pytest.raises(PlanError, match="'max' or 'l2'"):
        Dithering(norm="l1")

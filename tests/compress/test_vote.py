from __future__ import annotations

import pytest
import torch

from laconic.compress import ErrorFeedback, Majority, SignSGD, Signum
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise

KINDS = (SignSGD, Majority, Signum)


@pytest.mark.parametrize("compressor", [SignSGD(), Majority()], ids=str)
def test_scaling_every_gradient_changes_nothing(compressor: SignSGD | Majority):
    xs = [noise(100, rank) for rank in range(3)]
    plain = World(compressor, 3, "auto", one_tensor(100)).exchange(xs)
    large = World(compressor, 3, "auto", one_tensor(100)).exchange([x * 1e6 for x in xs])
    assert torch.equal(plain[0].mean, large[0].mean)


@pytest.mark.parametrize("route", ["gather", "deal"])
def test_zero_counts_as_plus_or_stays(route: str):
    x = torch.tensor([0.0, 2.0, -3.0])
    for kind in KINDS:
        assert World(kind(), 2, route, one_tensor(3)).exchange([x, x])[0].mean.tolist() == [1.0, 1.0, -1.0]
        stays = World(kind(zero="zero"), 2, route, one_tensor(3)).exchange([x, x])
        assert stays[0].mean.tolist() == [0.0, 1.0, -1.0]


def test_one_bit_or_five_elements_to_a_byte():
    assert SignSGD().payload_bits(one_tensor(1000)) == 1000
    assert SignSGD("zero").payload_bits(one_tensor(1000)) == 1600


@pytest.mark.parametrize("kind", KINDS)
def test_a_third_kind_of_zero_is_refused(kind: type[SignSGD]):
    with pytest.raises(PlanError, match="'plus'"):
        kind(zero="random")


def test_an_error_memory_is_refused_as_signs_promise_nothing():
    with pytest.raises(PlanError, match="promises no bound"):
        ErrorFeedback(SignSGD())

from __future__ import annotations

import pytest
import torch

from laconic.compress import Proportion
from laconic.compress.base import Draw
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.core.rng import Stream
from tests.laws.world import World
from tests.zoo import noise

DRAW = Draw(Stream(1), Stream(2))


def test_each_side_has_its_share_and_its_mean():
    x = torch.tensor([1.0, 3.0, 5.0, 2.0, -8.0, -6.0, 0.0])  # half of four, half of two
    (out,) = World(Proportion(0.5), 1, "gather", one_tensor(7)).exchange([x])
    assert out.sent.tolist() == [0, 4, 4, 0, -8, 0, 0]


def test_the_error_is_the_norm_less_what_the_means_capture():
    x = noise(1000, 3) + 0.3
    aux, (means, words) = Proportion(0.05).encode(x, DRAW)
    said = Proportion(0.05).decode((means, words), 1000, aux, DRAW)
    negative = int((words < 0).count_nonzero())
    captured = (aux - negative) * float(means[0]) ** 2 + negative * float(means[1]) ** 2
    left = float((x - said).double().pow(2).sum())
    assert left == pytest.approx(float(x.double().pow(2).sum()) - captured, rel=1e-5)


@pytest.mark.parametrize("ratio", [1 / 64, 0.1])
def test_the_counts_are_the_proportion(ratio: float):
    x = noise(5000, 4) - 0.5
    _, (_, words) = Proportion(ratio).encode(x, DRAW)
    for side, negative in ((x > 0, words >= 0), (x < 0, words < 0)):
        wanted = ratio * int(side.count_nonzero())
        assert wanted <= int(negative.count_nonzero()) < wanted + 1


def test_a_side_without_elements_sends_none():
    (out,) = World(Proportion(0.5), 1, "gather", one_tensor(4)).exchange([torch.tensor([-1.0, -2, -3, -4])])
    assert out.sent.tolist() == [0, 0, -3.5, -3.5]
    assert Proportion(0.5).encode(torch.zeros(4), DRAW)[0] == 0


def test_a_share_outside_zero_to_one_is_refused():
    with pytest.raises(PlanError, match="above 0 and at most 1"):
        Proportion(0)

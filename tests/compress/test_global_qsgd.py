from __future__ import annotations

import pytest
import torch

from laconic.compress import GlobalQSGD
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise


def test_all_ranks_round_to_one_grid():
    xs = [torch.tensor([7.0, 3.2]), torch.tensor([-1.0, 0.5])]
    out = World(GlobalQSGD(4), 2, "auto", one_tensor(2)).exchange(xs)
    assert out[0].sent[0] == 7.0
    assert out[1].sent[0] == -1.0  # steps of 7/7
    assert all(float(o.sent[1]) == round(float(o.sent[1])) for o in out)
    assert out[0].mean.tolist() == [(out[0].sent[i] + out[1].sent[i]).item() / 2 for i in (0, 1)]


@pytest.mark.parametrize("world", [1, 2, 5, 8])
def test_nothing_is_rounded_twice(world: int):
    compressor, spec = GlobalQSGD(4), one_tensor(256)
    xs = [noise(256, rank) for rank in range(world)]
    step = float(torch.stack(xs).abs().max()) / 7
    out = World(compressor, world, "auto", spec).exchange(xs)
    exact = torch.stack([o.sent for o in out]).double().mean(0)
    assert float((out[0].mean - exact).abs().max()) < 1e-5
    assert float((out[0].sent - xs[0]).abs().max()) <= step * (1 + 1e-5)


def test_the_variance_is_within_that_of_its_step():
    x, spec = noise(256), one_tensor(256)
    sent = torch.stack([World(GlobalQSGD(4), 1, "auto", spec).exchange([x], s)[0].sent for s in range(300)])
    assert float((sent - x).pow(2).sum(1).mean()) <= 256 * float(x.abs().max()) ** 2 / (4 * 49)


def test_more_ranks_take_more_bits_and_never_overflow():
    bits = [8 * GlobalQSGD(4).sum_bytes(one_tensor(1 << 20), n) / (1 << 20) for n in (1, 8, 1000)]
    assert bits == pytest.approx([4 + 1 / 8, 64 / 9 + 1 / 8, 16 + 1 / 8], rel=1e-3)


def test_one_bit_is_refused():
    with pytest.raises(PlanError, match="2 to 8"):
        GlobalQSGD(1)

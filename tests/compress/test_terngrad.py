from __future__ import annotations

import pytest
import torch

from laconic.compress import ErrorFeedback, TernGrad
from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise


def test_the_scale_is_everyones_largest_and_each_tensor_has_its_own():
    spec = BucketSpec(0, ("a", "b"), ((2,), (3,)))
    xs = [torch.tensor([1.0, -1.0, 8.0, 0.0, -8.0]), torch.tensor([4.0, -4.0, 2.0, 0.0, -2.0])]
    out = World(TernGrad(clip=0), 2, "auto", spec).exchange(xs)
    assert set(out[0].sent[:2].abs().tolist()) <= {0.0, 4.0}
    assert out[1].sent[:2].tolist() == [4.0, -4.0]
    assert out[0].sent[2:].tolist() == [8.0, 0.0, -8.0]


def test_the_sum_of_whole_numbers_is_the_sum_of_what_was_sent():
    world = World(TernGrad(), 5)
    out = world.exchange(world.inputs())
    assert torch.stack([o.sent for o in out]).mean(0).allclose(out[0].mean, rtol=1e-6)


def test_the_variance_is_exactly_that_of_three_values():
    x, world = noise(64), World(TernGrad(clip=0), 1, "auto", one_tensor(64))
    sent = torch.stack([world.exchange([x], step)[0].sent for step in range(2000)])
    exact = float(x.abs().max() * x.abs().sum() - x.pow(2).sum())
    assert float((sent - x).pow(2).sum(1).mean()) == pytest.approx(exact, rel=0.03)
    assert float((sent.mean(0) - x).norm()) < 3 * (exact / 2000) ** 0.5


def test_clipping_pulls_outliers_to_the_clip():
    x = torch.full((100,), 0.1)
    x[0] = 10.0
    rms = float(x.pow(2).mean().sqrt())
    sent = World(TernGrad(clip=2), 1, "auto", one_tensor(100)).exchange([x])[0].sent
    assert float(sent[0]) == pytest.approx(2 * rms)
    assert not TernGrad().traits(one_tensor(100)).unbiased
    assert TernGrad(clip=0).traits(one_tensor(100)).unbiased


def test_a_tensor_of_equal_elements_is_not_silenced():
    x = torch.full((10,), -0.3)
    assert World(TernGrad(), 1, "auto", one_tensor(10)).exchange([x])[0].mean.tolist() == pytest.approx([-0.3] * 10)


def test_an_error_memory_is_refused_as_others_set_the_scale():
    with pytest.raises(PlanError, match="promises no bound"):
        ErrorFeedback(TernGrad(clip=0))


@pytest.mark.parametrize("clip", [-1.0, 0.5, float("inf"), float("nan")])
def test_a_clip_that_would_clip_nearly_everything_is_refused(clip: float):
    with pytest.raises(PlanError, match="times the rms"):
        TernGrad(clip)

from __future__ import annotations

import pytest
import torch

from laconic.compress import DoubleSqueeze, ErrorFeedback, Fp16, Sign, TopK
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.test_conservation import owed
from tests.laws.world import World

SPEC = one_tensor(48)


@pytest.mark.parametrize("inner", [TopK(0.1), Sign(block=8)], ids=str)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_virtual_iterate_is_that_of_sgd_without_compression(inner: TopK | Sign, size: int):
    """x - lr (mean e_i + E) = x_0 - lr sum of mean gradients; and replicas agree."""
    compressor, lr = DoubleSqueeze(inner), 0.1
    world = World(compressor, size, "auto", SPEC)
    x = torch.zeros(48, dtype=torch.float64)
    dense = torch.zeros(48, dtype=torch.float64)
    for step in range(20):
        xs = world.inputs(step)
        out = world.exchange(xs, step)
        assert all(torch.equal(out[0].mean, o.mean) for o in out)
        x -= lr * out[0].mean.double()
        dense -= lr * torch.stack(xs).double().mean(0)
    left = torch.stack([s.residual.double() for s in world.states]).mean(0) + owed(compressor, world.states, SPEC)
    assert torch.allclose(x - lr * left, dense, atol=1e-5)


def test_it_is_error_feedback_on_the_deal_route():
    ours, theirs = World(DoubleSqueeze(Sign()), 3, "gather"), World(ErrorFeedback(Sign()), 3, "deal")
    for step in range(3):
        a, b = ours.exchange(ours.inputs(step), step), theirs.exchange(theirs.inputs(step), step)
        assert torch.equal(a[1].mean, b[1].mean)


def test_what_is_applied_is_as_sparse_as_what_is_sent():
    world = World(DoubleSqueeze(TopK(0.1)), 4, spec=one_tensor(400))
    assert int(world.exchange(world.inputs())[0].mean.count_nonzero()) == 40
    gathered = World(ErrorFeedback(TopK(0.1)), 4, spec=one_tensor(400))
    assert int(gathered.exchange(gathered.inputs())[0].mean.count_nonzero()) > 100


def test_what_is_averaged_on_the_way_has_no_second_direction():
    with pytest.raises(PlanError, match=r"Use ef\(fp16\)"):
        DoubleSqueeze(Fp16())

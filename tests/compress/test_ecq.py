from __future__ import annotations

import pytest
import torch

from laconic.compress import ECQ, QSGD, ErrorFeedback, TopK
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise

SPEC = one_tensor(64)


def _run(compressor: ECQ | ErrorFeedback | QSGD, steps: int = 4) -> list[torch.Tensor]:
    world = World(compressor, 2, "gather", SPEC)
    return [world.exchange([noise(64, 10 * step + rank) for rank in (0, 1)], step)[0].mean for step in range(steps)]


def test_the_memory_by_hand():
    world = World(ECQ(QSGD(8), alpha=0.5, beta=0.5), 1, "gather", one_tensor(2))
    x = torch.tensor([127.0, 0.3])
    first = world.exchange([x], 0)[0].sent
    h = world.states[0].residual
    assert torch.equal(h, x - first)
    second = world.exchange([x], 1)[0].sent
    assert torch.allclose(world.states[0].residual, 0.5 * h + (x - second))


def test_full_weights_are_error_feedback():
    for a, b in zip(_run(ECQ(QSGD(4), alpha=1, beta=1)), _run(ErrorFeedback(QSGD(4))), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_no_weight_is_the_quantizer_alone():
    for a, b in zip(_run(ECQ(QSGD(4), alpha=0, beta=0.9)), _run(QSGD(4)), strict=True):
        assert torch.equal(a, b)


def test_signs_are_kept():
    (out,) = World(ECQ(), 1, "gather", one_tensor(8)).exchange([torch.full((8,), -1.0)])
    assert out.mean.tolist() == [-1.0] * 8


def test_a_memory_that_would_grow_is_refused_with_weights_that_would_not():
    with pytest.raises(PlanError, match=r"would grow by .* and beta=1"):
        ECQ(QSGD(2), alpha=1, beta=1)
    assert ECQ(QSGD(2), alpha=0.11, beta=1).traits(SPEC).remembers


def test_a_biased_quantizer_is_refused():
    with pytest.raises(PlanError, match="must be unbiased"):
        ECQ(TopK(0.1))

"""Qsparse-local-SGD (Basu et al., NeurIPS 2019) is a plan: `local(h) / ef(topk(ratio) | qsgd(bits))`."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import laconic
from laconic.compress import QSGD, ErrorFeedback, RandomK, TopK
from laconic.core.bucket import one_tensor
from tests.laws.world import World
from tests.processes import results
from tests.replica.loops import batches, fit, flat, mlp
from tests.zoo import noise


def _trained(rank: int, plan: str) -> Tensor:
    model = mlp(rank, norm=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    replica = laconic.distribute(model, optimizer, plan)
    fit(model, optimizer, batches(rank, 12))
    replica.flush()
    return flat(model)


def _plans(rank: int, world: int) -> list[Tensor]:
    laconic.init()
    return [
        _trained(rank, plan)
        for plan in ("local(1) / ef(topk(0.1))", "ef(topk(0.1))", "local(4) / ef(topk(1))", "local(4)")
    ]


def test_without_local_steps_and_rounding_it_is_top_k_with_memory_and_without_loss_it_is_local_sgd():
    for one_step, topk, all_, local in results(2, _plans):
        # The memory holds updates instead of gradients: the same for constant learning rates, up to rounding.
        assert torch.allclose(one_step, topk, atol=1e-5)
        assert torch.allclose(all_, local, atol=1e-5)


def test_the_contraction_is_that_of_the_paper():
    spec = one_tensor(10_000)
    mild, harsh = TopK(0.1) | QSGD(4), TopK(0.1) | QSGD(2, block=1024, norm="l2")
    omega = QSGD(4).traits(one_tensor(1000)).omega
    assert omega is not None
    assert omega < 1
    assert mild.traits(spec).delta == pytest.approx(0.1 * (1 - omega))
    omega = QSGD(2, block=1024, norm="l2").traits(one_tensor(1000)).omega
    assert omega is not None
    assert omega > 30
    assert harsh.traits(spec).delta == pytest.approx(0.1 / (1 + omega))


def test_values_of_large_variance_are_damped_so_that_a_memory_can_rely_on_them():
    harsh = TopK(0.5) | QSGD(2, block=1024, norm="l2")
    world = World(ErrorFeedback(harsh), 1, "gather", one_tensor(400))
    norms = []
    for step in range(60):
        world.exchange([noise(400, step)], step)
        norms.append(float(world.states[0].residual.norm()))
    assert norms[-1] < 20 * norms[3]  # undamped it explodes


def test_an_unbiased_pair_is_not_damped():
    pair = RandomK(0.5) | QSGD(2, block=1024, norm="l2")
    assert pair.damping(1000) == 1.0
    assert pair.traits(one_tensor(1000)).unbiased

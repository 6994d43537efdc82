from __future__ import annotations

import torch
from torch import nn

from laconic.compress import ByTensor, Sign, TopK
from laconic.core.bucket import BucketSpec
from laconic.core.rng import shared
from laconic.distribute import distribute
from tests.laws.test_promises import asked
from tests.laws.world import World

SPEC = BucketSpec(2, ("a", "b", "none"), ((4,), (2, 2), (0,)))
X = torch.tensor([9.0, 8, 7, 6, 1, -4, 2, 3])


def test_each_tensor_keeps_its_share():
    (out,) = World(ByTensor(TopK(0.25)), 1, "gather", SPEC).exchange([X])
    assert out.mean.tolist() == [9, 0, 0, 0, 0, -4, 0, 0]


def test_a_bucket_keeps_the_largest_of_all_its_tensors():
    (out,) = World(TopK(0.25), 1, "gather", SPEC).exchange([X])
    assert out.mean.tolist() == [9, 8, 0, 0, 0, 0, 0, 0]


def test_one_bucket_for_the_model_selects_the_global_set():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(50, 40), nn.Linear(40, 60))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    distribute(model, optimizer, "topk(0.01) / fused(bucket=1000GiB, first=1000GiB)")
    dense = {n: torch.randn_like(p) for n, p in model.named_parameters()}
    loss = sum((dense[n] * p).sum() for n, p in model.named_parameters())
    loss.backward()  # type: ignore[union-attr]
    weights = torch.cat([dense["0.weight"].view(-1), dense["1.weight"].view(-1)])
    assert model[0].weight.grad is not None
    assert model[1].weight.grad is not None
    said = torch.cat([model[0].weight.grad.view(-1), model[1].weight.grad.view(-1)])
    assert set(said.nonzero().view(-1).tolist()) == set(weights.abs().topk(44).indices.tolist())


def test_all_tensors_are_asked_about_at_once():
    assert len(asked(ByTensor(Sign()), SPEC)) == 1


def test_tensors_have_random_streams_of_their_own():
    specs = [p.spec for p in ByTensor(Sign()).pieces(SPEC)]
    nested = [p.spec for s in specs for p in ByTensor(Sign()).pieces(s)]
    every = [SPEC, *specs, *nested]
    assert len({shared(0, 0, s.id, s.part).key for s in every}) == len(every)


def test_the_promise_is_that_of_the_weakest_tensor():
    assert ByTensor(TopK(0.3)).traits(SPEC).delta == 0.5  # 2 of 4 in either
    assert ByTensor(TopK(0.3)).payload_bits(SPEC) == 4 * 32 + 2 * 8  # values, a byte of indices each

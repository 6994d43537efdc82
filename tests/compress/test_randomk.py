from __future__ import annotations

import torch

from laconic.compress import RandomK
from laconic.core import rng
from laconic.core.bucket import one_tensor
from tests.laws.world import World
from tests.zoo import SEED


def test_randomk_scales_what_all_ranks_choose_alike():
    spec = one_tensor(8)
    at = rng.shared(SEED, 4, 0).choice(8, 2)
    a, b = torch.arange(8.0), torch.ones(8)
    out = World(RandomK(0.25), 2, spec=spec).exchange([a, b], step=4)
    want = torch.zeros(8)
    want[at] = 4 * (a + b)[at] / 2
    assert torch.equal(out[0].mean, want)
    assert RandomK(0.25).payload_bits(spec) == 64  # values alone


def test_randomk_chooses_others_in_another_step():
    spec = one_tensor(1000)
    chosen = [World(RandomK(0.01), 1, spec=spec).exchange([torch.ones(1000)], step)[0].sent for step in (0, 1)]
    assert not torch.equal(*chosen)


def test_randomk_scaled_out_of_range_is_clipped():
    spec = one_tensor(100, torch.float16)
    (out,) = World(RandomK(0.01), 1, spec=spec).exchange([torch.full((100,), 6e4, dtype=torch.float16)])
    assert float(out.mean.max()) == 65504

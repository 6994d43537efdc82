from __future__ import annotations

import torch

from laconic.compress import Identity
from laconic.core.bucket import one_tensor
from tests.laws.world import World


def test_none_is_the_mean():
    a, b = World(Identity(), 2, spec=one_tensor(2)).exchange([torch.tensor([1.0, -2.0]), torch.tensor([3.0, 4.0])])
    assert a.mean.tolist() == b.mean.tolist() == [2.0, 1.0]
    assert a.sent.tolist() == [1.0, -2.0]

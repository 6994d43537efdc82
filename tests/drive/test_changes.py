"""Changes are exact, and shorter than the value or not used."""

from __future__ import annotations

import pytest
import torch

from laconic.core.errors import PayloadError
from laconic.drive.changes import apply, pack


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("count", [0, 1, 5, 100, 600])
def test_what_changed_comes_across_exactly(count: int, dtype: torch.dtype):
    known = torch.randn(1001, dtype=dtype, generator=torch.Generator().manual_seed(0))
    value = known.clone()
    at = torch.randperm(1001, generator=torch.Generator().manual_seed(1))[:count]
    value[at] += 1.5
    message = pack(value, known)
    assert message is not None
    assert message.numel() < value.nbytes
    assert torch.equal(apply(message, known), value)


def test_many_changes_are_not_worth_it():
    assert pack(torch.ones(100), torch.zeros(100)) is None
    assert pack(torch.ones(1), torch.zeros(1)) is None


@pytest.mark.parametrize("cut", [0, 8, 15, 17, 40])
def test_damage_is_refused(cut: int):
    value = torch.zeros(400)
    value[7] = 1
    message = pack(value, torch.zeros(400))
    assert message is not None
    with pytest.raises(PayloadError):
        apply(message[:cut] if cut < message.numel() else torch.cat([message, message]), torch.zeros(400))
    far = message.clone()
    far[16:20] = torch.tensor([1000], dtype=torch.int32).view(torch.uint8)
    with pytest.raises(PayloadError, match="beyond 400"):
        apply(far, torch.zeros(400))

from __future__ import annotations

import pytest
import torch

from laconic.compress.sparse import check_indices
from laconic.core.errors import PayloadError


@pytest.mark.parametrize("bad", [[-1, 2], [0, 6], [2**31 - 1]])
def test_hostile_indices_are_refused(bad: list[int]):
    with pytest.raises(PayloadError, match="names elements"):
        check_indices(torch.tensor(bad, dtype=torch.int32), 6)


def test_good_indices_become_64_bit():
    assert check_indices(torch.tensor([0, 5], dtype=torch.int32), 6).dtype == torch.int64
    assert check_indices(torch.empty(0, dtype=torch.int32), 0).numel() == 0

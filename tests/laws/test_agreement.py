"""Replicas agree bit for bit after every synchronous exchange."""

from __future__ import annotations

import pytest
import torch

from laconic.compress import AbstractCompressor
from tests.laws import broken
from tests.laws.history import history
from tests.laws.world import WORLDS, over_the_zoo, routes
from tests.zoo import Entry


def check_replicas_agree(compressor: AbstractCompressor) -> None:
    for size in WORLDS:
        for route in routes(compressor):
            for step, moment in enumerate(history(compressor, size, route).steps(2 if size < 8 else 1)):
                first, *others = moment.means
                for rank, other in enumerate(others, 1):
                    assert torch.equal(first, other), (
                        f"{compressor}: rank {rank} of {size} differs from rank 0 ({route}, step {step})"
                    )


@over_the_zoo
def test_replicas_agree_bit_for_bit(entry: Entry):
    check_replicas_agree(entry.compressor)


def test_the_law_catches_an_owner_that_keeps_its_exact_chunk():
    with pytest.raises(AssertionError, match="differs from rank 0"):
        check_replicas_agree(broken.OwnerKeepsExact())


def test_the_law_catches_ranks_that_draw_different_elements():
    with pytest.raises(AssertionError, match="differs from rank 0"):
        check_replicas_agree(broken.OwnRandomK())

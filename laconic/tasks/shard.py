"""Which examples a rank reads: its share of a permutation that depends on the seed and the epoch, and on nothing else.

Rank r of n takes every n-th entry of the permutation, starting with the r-th. So shards are disjoint, together they
are the whole epoch, and every plan sees the same batches for the same seed.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from laconic.core.errors import UsageError

EPOCHS_PER_SEED = 1_000_003  # keeps (seed, epoch) pairs apart


def shard(examples: int, epoch: int, *, rank: int, world: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed * EPOCHS_PER_SEED + epoch)
    return torch.randperm(examples, generator=generator)[rank::world]


def batches(examples: int, batch: int, *, rank: int, world: int, seed: int) -> Iterator[Tensor]:
    """Endless full batches of indices; a batch may end one epoch and begin the next."""
    if examples < world:
        raise UsageError(f"{examples} examples cannot be shared out to {world} workers. Start fewer workers.")
    left, epoch = torch.empty(0, dtype=torch.int64), 0
    while True:
        while len(left) < batch:
            left = torch.cat([left, shard(examples, epoch, rank=rank, world=world, seed=seed)])
            epoch += 1
        yield left[:batch]
        left = left[batch:]

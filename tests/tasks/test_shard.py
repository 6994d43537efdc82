"""Shards of an epoch are disjoint and together are the whole epoch."""

from __future__ import annotations

from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from laconic.core.errors import UsageError
from laconic.tasks.shard import batches, shard


@given(examples=st.integers(1, 200), world=st.integers(1, 9), seed=st.integers(0, 2**31), epoch=st.integers(0, 5))
def test_every_example_is_in_exactly_one_shard(examples: int, world: int, seed: int, epoch: int):
    shards = [shard(examples, epoch, rank=rank, world=world, seed=seed) for rank in range(world)]
    assert sorted(torch.cat(shards).tolist()) == list(range(examples))


def test_epochs_and_seeds_have_orders_of_their_own():
    orders = {tuple(shard(50, epoch, rank=0, world=1, seed=seed).tolist()) for epoch in range(3) for seed in range(3)}
    assert len(orders) == 9


def test_a_rank_reads_its_shard_and_then_the_next_epochs():
    taken = torch.cat(list(islice(batches(10, 4, rank=1, world=2, seed=3), 5)))
    epochs = torch.cat([shard(10, epoch, rank=1, world=2, seed=3) for epoch in range(4)])
    assert taken.tolist() == epochs.tolist()


def test_more_workers_than_examples_still_get_full_batches():
    """Rank 2 of 3 has no example of two in any epoch, and must say so instead of searching for ever."""
    assert len(next(batches(3, 8, rank=2, world=3, seed=0))) == 8
    with pytest.raises(UsageError, match="2 examples"):
        next(batches(2, 8, rank=2, world=3, seed=0))


def test_the_workers_together_read_the_same_examples_as_one():
    """So a run with 4 workers x 8 is comparable with one worker x 32."""
    alone = islice(batches(64, 32, rank=0, world=1, seed=7), 4)
    workers = [islice(batches(64, 8, rank=rank, world=4, seed=7), 4) for rank in range(4)]
    for one, parts in zip(alone, zip(*workers, strict=True), strict=True):
        assert sorted(one.tolist()) == sorted(torch.cat(parts).tolist())


def test_the_global_generator_is_not_touched():
    before = torch.random.get_rng_state()
    next(batches(64, 32, rank=0, world=1, seed=7))
    assert torch.equal(before, torch.random.get_rng_state())

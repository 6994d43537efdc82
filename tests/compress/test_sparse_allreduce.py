"""sparcml and omnireduce: the exact mean of what ranks keep, moved sparsely."""

from __future__ import annotations

import pytest
import torch

from laconic.compress import (
    DGC,
    QSGD,
    BlockTopK,
    ErrorFeedback,
    Identity,
    OmniReduce,
    RandomK,
    SparCML,
    Threshold,
    TopK,
)
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.kernels import rising_bytes
from tests.laws.world import World
from tests.zoo import noise

WORLDS = (1, 2, 3, 5, 8)


def embedding(rank: int, rows: int = 100, width: int = 8) -> torch.Tensor:
    """Gradients of a few rows of a table."""
    x = torch.zeros(rows, width)
    x[[(7 * rank + i) % rows for i in range(3)]] = noise(3 * width, rank).view(3, width)
    return x.view(-1)


@pytest.mark.parametrize("size", WORLDS)
@pytest.mark.parametrize("compressor", [OmniReduce(Identity(), block=8), SparCML(Identity())], ids=str)
def test_bit_for_bit_the_dense_mean(compressor: OmniReduce, size: int):
    xs = [embedding(r) for r in range(size)]
    sparse, dense = (World(c, size, spec=one_tensor(800)) for c in (compressor, Identity()))
    a, b = sparse.exchange([x.clone() for x in xs]), dense.exchange([x.clone() for x in xs])
    assert torch.equal(a[0].mean, b[0].mean)
    assert torch.equal(a[-1].sent, xs[-1])


def test_a_sparse_gradient_moves_few_bytes():
    sparse, dense = (World(c, 4, spec=one_tensor(800)) for c in (OmniReduce(Identity(), block=8), Identity()))
    for world in (sparse, dense):
        world.exchange([embedding(r) for r in range(4)])
    assert sparse.links[0].sent_bytes < dense.links[0].sent_bytes / 3


@pytest.mark.parametrize("size", WORLDS)
def test_the_mean_is_that_of_a_gather_without_its_bytes(size: int):
    worlds = [World(c, size, "gather", one_tensor(4000)) for c in (SparCML(TopK(0.2)), TopK(0.2))]
    xs = worlds[0].inputs()
    a, b = (w.exchange([x.clone() for x in xs]) for w in worlds)
    assert torch.allclose(a[0].mean, b[0].mean, atol=1e-6)
    assert torch.equal(a[0].sent, b[0].sent)
    if size == 8:
        assert worlds[0].links[0].sent_bytes < 0.7 * worlds[1].links[0].sent_bytes


def test_where_supports_do_not_overlap_the_sum_is_written_dense():
    # Eight ranks keep a sixth each: the union covers most of a chunk, whose dense form bounds the message.
    world = World(SparCML(TopK(1 / 6)), 8, spec=one_tensor(800))
    world.exchange(world.inputs())
    chunk = 24 + 4 * 100
    assert max(link.sent_bytes for link in world.links) <= 2 * 7 * (8 + chunk)


def test_blocks_chosen_by_norm_are_reduced_block_by_block():
    x = torch.tensor([3.0, 0, 0, 2, 2, 2])
    y = torch.tensor([0.0, 1, 0, 0, 0, 4])
    out = World(OmniReduce(BlockTopK(0.5, block=3), block=3), 2, spec=one_tensor(6)).exchange([x, y])
    assert out[0].mean.tolist() == [0, 0, 0, 1, 1, 3]  # norms 3 and sqrt(12), 1 and 4
    assert out[1].sent.tolist() == [0, 0, 0, 0, 0, 4]


def test_declared_bits_are_those_of_the_kept_slots():
    assert SparCML(TopK(0.01)).payload_bits(one_tensor(10_000)) == 100 * 32 + 8 * rising_bytes(10_000, 100)
    assert SparCML(TopK(0.01) | QSGD(4)).payload_bits(one_tensor(10_000)) == 10_000 * 32  # decoded values are added
    assert OmniReduce(BlockTopK(0.01)).payload_bits(one_tensor(256_000)) == 8 * rising_bytes(1000, 10) + 10 * 256 * 32
    assert OmniReduce(BlockTopK(0.01, block=8)).payload_bits(one_tensor(2560)) == 2560 * 32


def test_promises_are_those_of_the_sparsifier():
    spec = one_tensor(1000)
    assert SparCML(TopK(0.1)).traits(spec).delta == TopK(0.1).traits(spec).delta
    assert OmniReduce(Identity()).traits(spec).omega == 0.0
    assert SparCML(Threshold(1)).traits(spec).rounds == 4


@pytest.mark.parametrize("inner", [QSGD(4), RandomK(0.1), DGC(0.1), ErrorFeedback(TopK(0.1))])
def test_what_is_not_sparse_or_remembers_is_refused(inner: object):
    for kind in (SparCML, OmniReduce):
        with pytest.raises(PlanError, match="Use for example"):
            kind(inner)  # type: ignore[arg-type]


def test_an_empty_block_is_refused():
    with pytest.raises(PlanError, match="whole number of elements"):
        OmniReduce(block=0)

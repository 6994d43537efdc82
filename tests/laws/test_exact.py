"""What can be represented exactly is returned exactly: sparse vectors, low rank, grid points."""

from __future__ import annotations

import pytest
import torch

from laconic.compress import QSGD, STC, ErrorFeedback, Fp16, Threshold, TopK
from laconic.core.bucket import one_tensor
from laconic.core.exchange import Route
from laconic.topology import AllReduce
from tests.laws import broken
from tests.laws.world import WORLDS, World, over_the_zoo, routes
from tests.zoo import BUCKET, STEP, Cut, Entry, sparse


def check_exact_comes_back(entry: Entry) -> None:
    """The same vector on all ranks: that vector is the mean, not a multiple of it."""
    for size in WORLDS:
        for name in routes(entry.compressor):
            route = Route.GATHER if name == "auto" else AllReduce(route_by=name).route(True, size)
            x = entry.exact(BUCKET, Cut(size, route))
            out = World(entry.compressor, size, name).exchange([x.clone() for _ in range(size)], STEP)
            # x/n added n times rounds n times where n is no power of two; products of factors round too.
            atol = (size + 4) * entry.roundoff * float(x.abs().max())
            for what, got in (("mean", out[0].mean), ("sent", out[-1].sent)):
                worst = float((got - x).abs().max())
                assert worst <= atol, f"{entry}: {what} is off by {worst:.3g} among {size} ({name})"


def check_far_index_comes_back(entry: Entry) -> None:
    """A float32 cannot tell element 2**24 + 1 from its neighbour."""
    spec = one_tensor(2**24 + 3)
    x = torch.zeros(spec.numel)
    x[2**24 + 1] = 1.0
    (out,) = World(entry.compressor, 1, "gather", spec).exchange([x], STEP)
    assert int(out.mean.argmax()) == 2**24 + 1, f"{entry}: the element moved to {int(out.mean.argmax())}"


FAR = (
    Entry(TopK(1e-7), sparse(1e-7)),
    Entry(TopK(1e-7) | Fp16(), sparse(1e-7)),
    Entry(ErrorFeedback(TopK(1e-7) | QSGD(4)), sparse(1e-7)),
    Entry(Threshold(0.5), sparse(1e-7)),
    Entry(STC(5e-8), sparse(5e-8)),
)


@over_the_zoo
def test_what_is_representable_comes_back_unchanged(entry: Entry):
    check_exact_comes_back(entry)


@pytest.mark.parametrize("entry", FAR, ids=str)
def test_indices_above_two_to_the_24_are_exact(entry: Entry):
    check_far_index_comes_back(entry)


def test_the_law_catches_a_mean_that_is_a_sum():
    with pytest.raises(AssertionError, match="mean is off by"):
        check_exact_comes_back(Entry(broken.SumNotMean(), sparse(0.1)))


def test_the_law_catches_one_that_loses_the_last_element():
    with pytest.raises(AssertionError, match="is off by"):
        check_exact_comes_back(Entry(broken.LosesOne(), sparse(0.1)))


def test_the_law_catches_indices_written_as_floats():
    with pytest.raises(AssertionError, match="moved to"):
        check_far_index_comes_back(Entry(broken.FloatIndices(), sparse(1e-7)))

"""Zeros, one element, nothing at all, huge and denormal numbers: what comes back is finite.

NaN and infinity are reported by the replica before any exchange, so they do not occur here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from laconic.compress import AbstractCompressor
from laconic.core import state as tree
from laconic.core.bucket import BucketSpec, one_tensor
from tests.laws import broken
from tests.laws.world import World, over_the_zoo, routes
from tests.zoo import BUCKET, Entry, noise

SHAPES = (
    BUCKET,
    one_tensor(1),
    BucketSpec(0, ("scalar",), ((),)),
    one_tensor(0),
    BucketSpec(0, (), ()),
    BucketSpec(0, ("empty matrix", "one"), ((0, 5), (1,))),
)


def _inputs(numel: int, top: float) -> Iterator[tuple[str, Tensor]]:
    signs = torch.tensor([1.0, -1.0]).repeat(numel)[:numel]
    yield "1e30", 1e30 * noise(numel, 1).clamp(-2, 2)
    if not numel:
        return
    yield "the largest", top * signs
    mixed = 1e-44 * signs
    mixed[:1] = top
    yield "denormal and one huge", mixed
    yield "the smallest", torch.full((numel,), 1e-45)


def check_finite(compressor: AbstractCompressor, top: float = 3e38) -> None:
    for spec in SHAPES:
        for route in routes(compressor, spec):
            for name, x in _inputs(spec.numel, top):
                out = World(compressor, 3, route, spec).exchange([x.clone() for _ in range(3)])
                kept = tree.to_dict(out[0].state).items()
                for what, t in (("mean", out[0].mean), ("sent", out[0].sent), *kept):
                    assert t.isfinite().all(), f"{compressor}: {what} of {name} is not finite: {spec.shapes}"


def check_zeros_stay_zero(compressor: AbstractCompressor) -> None:
    for spec in SHAPES:
        for route in routes(compressor, spec):
            world = World(compressor, 3, route, spec)
            for step in range(2):
                out = world.exchange([torch.zeros(spec.numel) for _ in range(3)], step)
                for what, t in (("mean", out[0].mean), ("sent", out[0].sent)):
                    assert t.shape == (spec.numel,), f"{compressor}: {what} of {spec.shapes} is {t.shape}"
                    waived = not compressor.traits(spec).zero
                    assert waived or not t.count_nonzero(), f"{compressor}: {what} of zeros is {t.unique()}"


@over_the_zoo
def test_huge_and_denormal_numbers_stay_finite(entry: Entry):
    check_finite(entry.compressor, entry.top)


@over_the_zoo
def test_zeros_stay_zero(entry: Entry):
    check_zeros_stay_zero(entry.compressor)


def test_the_law_catches_nan_from_zeros():
    with pytest.raises(AssertionError, match="of zeros is"):
        check_zeros_stay_zero(broken.NanOnZeros())


def test_the_law_catches_squares_that_overflow():
    with pytest.raises(AssertionError, match="not finite"):
        check_finite(broken.SquaresHuge())

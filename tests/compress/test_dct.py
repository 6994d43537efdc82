from __future__ import annotations

import math

import pytest
import torch

from laconic.compress import DCT
from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.errors import PayloadError, PlanError
from laconic.core.exchange import Seat, Turn
from laconic.core.payload import HEADER_BYTES
from laconic.kernels import reference_sparse as kernel
from laconic.topology import AllReduce
from tests.laws.world import World
from tests.zoo import noise


def test_the_transform_by_hand():
    d = kernel.dct_matrix(2)
    assert torch.allclose(d, torch.tensor([[1.0, 1], [1, -1]]) / math.sqrt(2))
    for n in (1, 3, 24, 64):
        d = kernel.dct_matrix(n)
        assert torch.allclose(d @ d.T, torch.eye(n), atol=1e-6)


def test_tiles_are_the_largest_divisors():
    tiles = DCT().tiles
    assert tiles((128, 96)) == (2, 2, 64, 48)
    assert tiles((10, 3, 3)) == (1, 1, 10, 9)
    assert tiles((13,)) == (1, 1, 1, 13)
    assert tiles((254,)) == (1, 127, 1, 2)
    assert tiles(()) == (1, 1, 1, 1)


def test_a_constant_matrix_is_one_coefficient_a_tile():
    spec = BucketSpec(0, ("w",), ((8, 12),))
    (out,) = World(DCT(1, chunk=4), 1, "gather", spec).exchange([torch.full((96,), 3.0)])
    assert torch.allclose(out.sent, torch.full((96,), 3.0), atol=1e-5)


@pytest.mark.parametrize("k", [1, 5, 16])
def test_the_error_is_that_of_the_coefficients_left_out(k: int):
    spec = BucketSpec(0, ("w",), ((8, 8),))
    x = noise(64, 3)
    tiles = DCT(k, chunk=4).tiles((8, 8))
    y = tiles.transform(x.view(8, 8))
    left = y.pow(2).sort(dim=1).values[:, : 16 - k].sum()
    (out,) = World(DCT(k, chunk=4), 1, "gather", spec).exchange([x.clone()])
    assert float((out.sent - x).pow(2).sum()) == pytest.approx(float(left), abs=1e-4)
    assert torch.allclose(tiles.back(y), x, atol=1e-5)


def test_forty_four_bits_a_coefficient():
    spec = BucketSpec(0, ("w", "b"), ((128, 128), (64,)))
    assert DCT(32).payload_bits(spec) == 5 * 32 * (32 + 12)


def test_the_mean_is_over_all_ranks():
    spec = one_tensor(4)
    a, b = torch.full((4,), 2.0), torch.zeros(4)
    out = World(DCT(1, chunk=4), 2, "gather", spec).exchange([a, b])
    assert torch.allclose(out[1].mean, torch.ones(4))  # DeMo would say 2: only one rank sent that coefficient


def test_a_place_outside_its_tile_is_refused():
    spec, seat, c = one_tensor(13), Seat(0, 1, AllReduce()), DCT(1, chunk=16)
    program = c.exchange(noise(13), (), spec, Turn(seat, 0))
    message = program.send(None).message
    message[HEADER_BYTES + 4] = 13
    with pytest.raises(PayloadError, match="outside its tile"):
        program.send([message])


@pytest.mark.parametrize("bad", [{"k": 0}, {"k": 17, "chunk": 4}, {"chunk": 0}, {"chunk": 300}])
def test_bad_settings_are_refused(bad: dict[str, int]):
    with pytest.raises(PlanError, match="dct"):
        DCT(**bad)

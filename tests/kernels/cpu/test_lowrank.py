"""Products with thin factors: compiled = plain torch, to rounding."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from laconic.kernels import reference
from laconic.kernels.cpu import lowrank, pool
from tests.zoo import noise

SHAPES = ((1, 1), (3, 5), (16, 8), (7, 1030), (65, 33), (64, 2048))


def matrix(rows: int, columns: int, seed: int = 1) -> Tensor:
    return noise(rows * columns, seed).view(rows, columns)


def close(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, rtol=1e-5, atol=1e-4)  # sums of up to 2048 products of about 1, in another order


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rank", [1, 2, 4, 5, 8])
def test_products_are_those_of_the_reference(shape: tuple[int, int], rank: int):
    rows, columns = shape
    m, e, p, q = matrix(rows, columns), matrix(rows, columns, 2), matrix(rank, rows, 3), matrix(rank, columns, 4)
    left, theirs = torch.full_like(m, 7.0), torch.full_like(m, 8.0)
    assert close(lowrank.along(m, q), reference.along(m, q))
    assert close(lowrank.along_keep(m, e, left, q), reference.along_keep(m, e, theirs, q))
    assert torch.equal(left, theirs)
    assert close(lowrank.across(m, p), reference.across(m, p))
    out, other = torch.full_like(m, 7.0), torch.full_like(m, 8.0)
    lowrank.rebuilt(out, p, q)
    reference.rebuilt(other, p, q)
    assert close(out, other)
    own = matrix(rank, columns, 5)
    lowrank.rebuilt_keep(out, left, p, q, own)
    reference.rebuilt_keep(other, theirs, p, q, own)
    assert close(out, other)
    assert close(left, theirs)


def test_any_number_of_threads_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch):
    m, p, q = matrix(50, 3000), matrix(4, 50, 3), matrix(4, 3000, 4)
    alone = [lowrank.along(m, q), lowrank.across(m, p), torch.empty_like(m)]
    lowrank.rebuilt(alone[2], p, q)
    monkeypatch.setattr(pool, "ENOUGH", 10_000)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    together = [lowrank.along(m, q), lowrank.across(m, p), torch.empty_like(m)]
    lowrank.rebuilt(together[2], p, q)
    assert all(torch.equal(a, b) for a, b in zip(alone, together, strict=True))


@pytest.mark.parametrize("rank", [1, 3, 8])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e36])
def test_vectors_become_orthonormal_in_their_order(rank: int, size: float):
    p = size * matrix(rank, 40)
    mine, theirs = lowrank.orthonormal(p), reference.orthonormal(p)
    assert torch.allclose(mine @ mine.T, torch.eye(rank), atol=1e-6)
    assert torch.allclose(mine, theirs, atol=1e-5)


def test_vectors_that_depend_on_others_are_replaced():
    p = matrix(1, 40).repeat(3, 1) * torch.tensor([[1.0], [2.0], [0.0]])
    q = lowrank.orthonormal(p)
    assert torch.allclose(q @ q.T, torch.eye(3), atol=1e-6)
    assert torch.allclose(q[0], p[0] / p[0].norm(), atol=1e-6)


def test_nearly_parallel_vectors_still_become_orthonormal():
    p = matrix(1, 300).repeat(4, 1) + 1e-3 * matrix(4, 300, 2)
    q = lowrank.orthonormal(p)
    assert torch.allclose(q @ q.T, torch.eye(4), atol=1e-6)

from __future__ import annotations

import pytest
import torch

from laconic.compress import Atomo
from laconic.compress.atomo import draw, probabilities
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.rng import Stream
from tests.laws.world import World
from tests.zoo import noise

SPEC = BucketSpec(0, ("w", "b"), ((12, 12), (3,)))


@pytest.mark.parametrize(
    ("weights", "rank", "want"),
    [
        ([1.0, 1, 1, 1], 2, [0.5, 0.5, 0.5, 0.5]),
        ([2.0, 1, 1], 2, [1.0, 0.5, 0.5]),
        ([9.0, 2, 1, 1], 2, [1.0, 0.5, 0.25, 0.25]),
        ([3.0, 0, 0], 2, [1.0, 0.5, 0.5]),
        ([0.0, 0, 0, 0], 1, [0.25] * 4),
    ],
)
def test_the_budget_is_spent_and_the_largest_are_sure(weights: list[float], rank: int, want: list[float]):
    p = probabilities(torch.tensor(weights, dtype=torch.float64), rank)
    assert p.tolist() == pytest.approx(want)
    assert float(p.sum()) == pytest.approx(rank)


def test_the_mean_of_many_draws_is_the_matrix_and_the_variance_as_computed():
    m = noise(36).view(6, 6)
    lam = torch.linalg.svdvals(m.double())
    p = probabilities(lam, 2)
    variance = float((lam**2 * (1 / p - 1)).sum())
    drawn = torch.stack([u @ v.T for u, v in (draw(m, 2, Stream(5).child(i)) for i in range(4000))]).double()
    assert float((drawn.mean(0) - m).norm()) < 5 * (variance / 4000) ** 0.5
    spread = float((drawn - m).pow(2).sum((1, 2)).mean())
    assert spread == pytest.approx(variance, rel=0.1)


def test_balanced_atoms_have_the_variance_of_the_paper():
    lam = torch.ones(8, dtype=torch.float64)
    p = probabilities(lam, 3)
    assert float((lam**2 * (1 / p - 1)).sum()) == pytest.approx(float(lam.sum() ** 2 / 3 - lam.pow(2).sum()))


def test_two_atoms_come_back_whole():
    low = noise(12, 1).view(12, 1) @ noise(12, 2).view(1, 12) + noise(12, 3).view(12, 1) @ noise(12, 4).view(1, 12)
    x = torch.cat([low.view(-1), torch.ones(3)])
    for step in range(5):
        (out,) = World(Atomo(2), 1, spec=SPEC).exchange([x.clone()], step)
        assert torch.allclose(out.mean, x, atol=1e-4)


def test_bits_are_those_of_the_vectors():
    assert Atomo(2).payload_bits(SPEC) == 32 * (2 * 24 + 3)
    assert Atomo(4).payload_bits(SPEC) == 32 * 147  # would not shrink by half


def test_a_rank_of_nothing_is_refused():
    with pytest.raises(PlanError, match="atomo"):
        Atomo(0)

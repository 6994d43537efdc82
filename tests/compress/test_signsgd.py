from __future__ import annotations

import pytest
import torch

from laconic.compress import ErrorFeedback, Sign, SignSGD
from laconic.core.bucket import one_tensor
from tests.laws.world import World


@pytest.mark.parametrize("route", ["gather", "deal"])
def test_the_update_is_the_mean_of_the_signs(route: str):
    xs = [torch.tensor([5.0, -1.0, 0.1]), torch.tensor([1.0, -9.0, -0.1]), torch.tensor([-1.0, -1.0, -7.0])]
    out = World(SignSGD(), 3, route, one_tensor(3)).exchange(xs)
    assert out[0].mean.tolist() == pytest.approx([1 / 3, -1.0, -1 / 3])
    assert out[2].sent.tolist() == [-1.0, -1.0, -1.0]


def _descend(compressor: SignSGD | ErrorFeedback, steps: int = 200) -> torch.Tensor:
    """min 0.5|x1 + x2| + |x1 - x2|, by one of its two subgradients a step, from (1, 1)."""
    world, x = World(compressor, 1, "gather", one_tensor(2)), torch.tensor([1.0, 1.0])
    for step in range(steps):
        inner = 1.0 if (x[0] - x[1]) >= 0 else -1.0
        outer = 0.5 if (x[0] + x[1]) >= 0 else -0.5
        gradient = torch.tensor([outer + inner, outer - inner])
        x = x - 0.01 * world.exchange([gradient], step)[0].mean
    return x


def test_it_stands_still_where_descent_does_not_and_error_feedback_mends_it():
    stuck = _descend(SignSGD())
    assert float(stuck.sum()) == pytest.approx(2.0, abs=1e-5)  # it never leaves the line x1 + x2 = 2
    assert abs(float(_descend(ErrorFeedback(Sign())).sum())) < 0.2


def test_few_bits_are_enough_to_count_plus_signs_among_many():
    assert [SignSGD().sum_bytes(64_000, n) / 8000 for n in (2, 4, 8)] == pytest.approx([2.0, 3.05, 4.0], abs=0.01)

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from laconic.compress import EF21, ErrorFeedback, Identity, RandomK, Sign, TopK
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.test_conservation import owed
from tests.laws.world import World
from tests.zoo import noise

D = 40


def test_the_estimate_comes_closer_by_hand():
    world = World(EF21(TopK(0.25)), 1, "gather", one_tensor(4))
    x = torch.tensor([4.0, 3, 2, 1])
    said = [world.exchange([x.clone()], step)[0].mean.tolist() for step in range(4)]
    assert said == [[4, 0, 0, 0], [4, 3, 0, 0], [4, 3, 2, 0], [4, 3, 2, 1]]


def test_on_a_fixed_gradient_the_error_falls_geometrically():
    world, x, delta = World(EF21(TopK(0.1)), 1, "gather", one_tensor(D)), noise(D), 0.1
    norm = float(x.norm() ** 2)
    for step in range(30):
        h = world.exchange([x.clone()], step)[0].mean
        assert float((x - h).norm() ** 2) <= (1 - delta) ** (step + 1) * norm + 1e-9


def test_without_loss_it_is_gradient_descent():
    world = World(EF21(TopK(1.0)), 2, "gather", one_tensor(D))
    for step in range(4):
        xs = world.inputs(step)
        assert torch.allclose(world.exchange(xs, step)[0].mean, sum(xs) / 2, atol=1e-5)


def descend(compressor: object, steps: int) -> float:
    """Two ranks with quadratics that disagree: |mean gradient|^2 at a constant step size."""
    spec, lr = one_tensor(20, torch.float64), 0.1
    centres = [5 * noise(20, 100 + r, torch.float64) for r in range(2)]
    scales = [0.5 + noise(20, 200 + r, torch.float64).abs() for r in range(2)]
    world, w = World(compressor, 2, "gather", spec), torch.zeros(20, dtype=torch.float64)  # type: ignore[arg-type]

    def gradients() -> list[Tensor]:
        return [s * (w - c) for s, c in zip(scales, centres, strict=True)]

    for step in range(steps):
        w = w - lr * world.exchange(gradients(), step)[0].mean
    return float((sum(gradients()) / 2).pow(2).sum())  # type: ignore[union-attr]


def test_ranks_that_disagree_do_not_stall_it_as_they_stall_error_feedback():
    # Messages are float32: 3e-13 is where EF21 ends, 17 to 25 is where error feedback goes round and round.
    assert descend(EF21(TopK(0.1)), 300) < 1e-11
    assert descend(ErrorFeedback(TopK(0.1)), 300) > 1


def test_the_average_starts_at_the_first_gradient_and_damps_noise():
    world = World(EF21(TopK(1.0), average=0.5), 1, "gather", one_tensor(2))
    first = world.exchange([torch.tensor([2.0, -2.0])], 0)[0].mean.tolist()
    second = world.exchange([torch.tensor([0.0, 0.0])], 1)[0].mean.tolist()
    assert (first, second) == ([2, -2], [1, -1])


@pytest.mark.parametrize("route", ["gather", "deal"])
def test_the_common_estimate_and_what_owners_owe_is_the_mean_of_all_estimates(route: str):
    world = World(EF21(Sign(block=16)), 3, route, one_tensor(D))
    for step in range(6):
        world.exchange(world.inputs(step), step)
    own = torch.stack([s.own for s in world.states]).mean(0)
    debt = owed(Sign(block=16), [s.inner for s in world.states], one_tensor(D))
    assert torch.allclose(world.states[0].mean + debt, own.double(), atol=1e-5)


def test_what_is_no_contraction_is_damped():
    world, x = World(EF21(RandomK(0.2)), 1, spec=one_tensor(D)), noise(D)
    errors = [float((x - world.exchange([x.clone()], step)[0].mean).norm()) for step in range(40)]
    assert errors[-1] < 0.02 * errors[0]


@pytest.mark.parametrize("bad", [{"inner": Identity()}, {"inner": TopK(0.1), "average": 0.0}])
def test_what_cannot_work_is_refused(bad: dict[str, object]):
    with pytest.raises(PlanError, match="ef21"):
        EF21(**bad)  # type: ignore[arg-type]

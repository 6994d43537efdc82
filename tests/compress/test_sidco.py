from __future__ import annotations

import math

import pytest
import torch

from laconic.compress import SIDCo
from laconic.compress.base import Draw
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.core.rng import Stream
from tests.laws.world import World
from tests.zoo import noise

DRAW = Draw(Stream(1), Stream(2))


def laplace(n: int, salt: int = 0) -> torch.Tensor:
    u = Stream(salt).uniform(n) - 0.5
    return -u.sign() * (1 - 2 * u.abs()).clamp(min=1e-7).log()


def share(compressor: SIDCo, x: torch.Tensor) -> float:
    """Selected over wanted, before the cap."""
    threshold = compressor._threshold(x.abs())
    assert threshold is not None
    return float((x.abs() >= threshold).count_nonzero()) / (compressor.ratio * x.numel())


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("fit", ["exp", "gpareto"])
def test_laplace_elements_are_hit_by_every_number_of_stages(fit: str, stages: int):
    assert share(SIDCo(0.01, fit, stages), laplace(100_000)) == pytest.approx(1.0, abs=0.12)


def test_normal_elements_need_several_stages():
    # The table of the catalogue: one stage 0.02, three stages 1.13.
    x = noise(100_000, 5)
    assert share(SIDCo(0.01, "exp", 1), x) < 0.05
    assert share(SIDCo(0.01, "exp", 3), x) == pytest.approx(1.13, abs=0.1)
    assert share(SIDCo(0.01, "gamma", 3), x) == pytest.approx(1.4, abs=0.2)  # its quantile is an approximation


def test_one_exponential_stage_by_hand():
    x = torch.tensor([1.0, -2, 3, -4])  # mean 2.5
    threshold = SIDCo(0.5, stages=1)._threshold(x.abs())
    assert threshold == pytest.approx(2.5 * math.log(2))
    assert SIDCo(0.5, stages=1).select(x, DRAW).tolist() == [1, 2, 3]


def test_the_number_of_stages_adapts_until_the_share_is_right():
    world = World(SIDCo(0.01), 1, "gather", one_tensor(20_000))
    world.states = [world.states[0]._replace(stages=torch.tensor(1))]
    stages, counts = [], []
    for step in range(50):
        (out,) = world.exchange([noise(20_000, step)], step)
        stages.append(int(world.states[0].stages))
        counts.append(int(out.sent.count_nonzero()))
    assert stages[3:6] == [1, 2, 2]  # looked at after five exchanges
    assert all(0.8 <= n / 200 <= 1.2 for n in counts[-5:])


def test_laplace_is_within_a_fifth_after_fifty_adaptive_steps():
    world = World(SIDCo(0.01), 1, "gather", one_tensor(20_000))
    counts = [int(world.exchange([laplace(20_000, step)], step)[0].sent.count_nonzero()) for step in range(50)]
    assert sum(counts[-10:]) / 10 == pytest.approx(200, rel=0.2)


def test_fixed_stages_stay():
    world = World(SIDCo(0.01, stages=1), 1, "gather", one_tensor(1000))
    for step in range(7):
        world.exchange([noise(1000, step)], step)
    assert int(world.states[0].stages) == 1


def test_ranks_at_different_stages_understand_each_other():
    world = World(SIDCo(0.05), 2, "gather", one_tensor(1000))
    world.states[1] = world.states[1]._replace(stages=torch.tensor(1))
    out = world.exchange(world.inputs())
    assert torch.equal(out[0].mean, out[1].mean)


@pytest.mark.parametrize("fit", ["exp", "gamma", "gpareto"])
def test_what_no_distribution_fits_is_sorted_out(fit: str):
    assert SIDCo(0.1, fit).select(torch.ones(100), DRAW).numel() in range(10, 21)
    assert SIDCo(0.1, fit).select(torch.zeros(100), DRAW).numel() == 0
    assert SIDCo(0.1, fit).select(torch.eye(10)[0], DRAW).tolist() == [0]


def test_heavy_tails_send_at_most_twice_as_much():
    assert SIDCo(0.001, stages=1).select(noise(100_000, 6) ** 5, DRAW).numel() <= 200


@pytest.mark.parametrize(
    ("bad", "says"), [({"ratio": 0.0}, "above 0"), ({"fit": "normal"}, "exp, gamma"), ({"stages": -1}, "1 to 32")]
)
def test_bad_settings_are_refused(bad: dict[str, object], says: str):
    with pytest.raises(PlanError, match=says):
        SIDCo(**bad)  # type: ignore[arg-type]

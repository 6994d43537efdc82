from __future__ import annotations

import pytest
import torch

from laconic.compress import VGC
from laconic.compress.base import Draw
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.core.exchange import Seat
from laconic.core.rng import Stream
from laconic.topology import AllReduce
from tests.laws.world import World
from tests.zoo import noise

DRAW = Draw(Stream(1), Stream(2))


def code(*values: float) -> list[float]:
    x = torch.tensor(values)
    aux, parts = VGC().encode(x, DRAW)
    return VGC().decode(parts, len(values), aux, DRAW).tolist()


def test_values_are_the_nearest_powers_of_two_within_seven_octaves():
    assert code(1.0, 0.5, -0.25, 0.0) == [1, 0.5, -0.25, 0]
    assert code(1.9, 0.7, 0.8, -0.3) == [1, 0.5, 1, -0.25]  # nothing is rounded above the power below the largest
    assert code(1.0, 2**-7, 2**-8.5) == [1, 2**-7, 0]


def test_one_word_an_element():
    aux, (unit, words) = VGC().encode(torch.tensor([0.0, 2.0, -0.5]), DRAW)
    assert (aux, unit.tolist()) == (2, [2.0])
    assert words.tolist() == [1, 2 + (2 << 28) - (1 << 31)]


@pytest.mark.parametrize(("alpha", "steps"), [(0.5, 1), (1.0, 2), (1.5, 2), (2.5, 3)])
def test_steps_that_agree_are_said_as_soon_as_there_are_more_than_alpha(alpha: float, steps: int):
    world = World(VGC(alpha, decay=1), 1, "gather", one_tensor(1))
    said = [float(world.exchange([torch.tensor([1.0])], step)[0].sent) for step in range(steps)]
    assert said[:-1] == [0.0] * (steps - 1)
    assert said[-1] != 0


def test_steps_that_disagree_wait():
    world = World(VGC(1), 1, "gather", one_tensor(1))
    said = [float(world.exchange([torch.tensor([(-1.0) ** step])], step)[0].sent) for step in range(20)]
    assert said == [0.0] * 20


def test_alpha_zero_says_all_that_is_not_zero():
    world = World(VGC(0), 1, "gather", one_tensor(3))
    (out,) = world.exchange([torch.tensor([1.0, 0.0, -0.5])])
    assert out.sent.tolist() == [1, 0, -0.5]


def test_what_rounding_leaves_is_said_later():
    world = World(VGC(0), 1, "gather", one_tensor(2))
    sent = torch.zeros(2)
    for step in range(12):
        x = torch.tensor([1.7, -0.3]) if step == 0 else torch.zeros(2)
        sent += world.exchange([x], step)[0].sent
    assert torch.allclose(sent, torch.tensor([1.7, -0.3]), atol=1e-3)


def test_the_variance_fades_and_is_reset_where_something_was_said():
    world = World(VGC(1, decay=0.25), 1, "gather", one_tensor(2))
    world.exchange([torch.tensor([3.0, 0.0])])
    assert world.states[0].spread.tolist() == [1.5, 0]
    world.exchange([torch.tensor([3.0, 0.0])], 1)
    assert world.states[0].spread.tolist() == [0, 0]
    assert world.states[0].residual.tolist() == [2, 0]  # 6 was said as 4


def test_noise_of_many_elements_is_said_in_part():
    world = World(VGC(1.5), 1, "gather", one_tensor(2000))
    counts = [int(world.exchange([noise(2000, s)], s)[0].sent.count_nonzero()) for s in range(12)]
    assert counts[0] == 0
    assert 50 < counts[-1] < 800


def test_bad_settings_and_buckets_beyond_28_bits_are_refused():
    for bad in ({"alpha": -1.0}, {"decay": 0.0}, {"decay": 1.5}):
        with pytest.raises(PlanError, match="vgc"):
            VGC(**bad)
    with pytest.raises(PlanError, match="Use smaller buckets"):
        VGC().init(one_tensor(2**28 + 1), Seat(0, 1, AllReduce()))

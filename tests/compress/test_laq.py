from __future__ import annotations

import pytest
import torch

from laconic.compress import LAQ
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise


def test_two_bits_are_four_even_levels_of_the_change():
    x = torch.tensor([3.0, -3.0, 0.9, -1.4])
    (out,) = World(LAQ(2), 1, "gather", one_tensor(4)).exchange([x])
    assert out.mean.tolist() == pytest.approx([3.0, -3.0, 1.0, -1.0])


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_no_element_is_off_by_more_than_its_share_of_the_radius(bits: int):
    world = World(LAQ(bits, patience=0), 1, "gather", one_tensor(200))
    said = torch.zeros(200)
    for step in range(5):
        x = noise(200, step)
        radius = float((x - said).abs().max())
        said = world.exchange([x], step)[0].sent
        assert float((x - said).abs().max()) <= radius / (2**bits - 1) * (1 + 1e-5)


def test_a_gradient_that_stands_still_is_said_once():
    world, x, sent = World(LAQ(8), 2, "gather", one_tensor(1000)), noise(1000), []
    for step in range(4):
        before = world.links[0].sent_bytes
        world.exchange([x.clone(), x.clone()], step)
        sent.append(world.links[0].sent_bytes - before)
    assert sent[0] == 8 + 24 + 4 + 1000
    assert sent[-1] == 8 + 24  # a length and a header: silence


def test_after_enough_silence_it_speaks_again():
    world, x, sent = World(LAQ(8, patience=2), 2, "gather", one_tensor(1000)), noise(1000), []
    for step in range(7):
        before = world.links[0].sent_bytes
        world.exchange([x.clone(), x.clone()], step)
        sent.append(world.links[0].sent_bytes - before > 100)
    assert sent == [True, False, False, True, False, False, True]


def test_without_patience_it_always_speaks():
    world = World(LAQ(4, patience=0), 2, "gather", one_tensor(1000))
    for step in range(3):
        before = world.links[0].sent_bytes
        world.exchange([noise(1000, step), noise(1000, step)], step)
        assert world.links[0].sent_bytes - before == 8 + 24 + 4 + 500


def test_the_sum_of_changes_is_what_was_uploaded():
    world = World(LAQ(4), 3)
    for step in range(6):
        out = world.exchange(world.inputs(step), step)
    uploaded = torch.stack([s.uploaded for s in world.states])
    assert torch.allclose(out[0].mean, uploaded.mean(0), atol=1e-5)
    assert all(torch.equal(s.mean, world.states[0].mean) for s in world.states)


@pytest.mark.parametrize("bad", [{"bits": 0}, {"patience": -1}, {"window": 0}, {"weight": 0.5}])
def test_settings_that_cannot_work_are_refused(bad: dict[str, int]):
    with pytest.raises(PlanError, match=f"laq\\({next(iter(bad))}"):
        LAQ(**bad)

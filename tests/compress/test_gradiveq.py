from __future__ import annotations

import pytest
import torch
from torch import Tensor

from laconic.compress import GradiVeQ, Identity
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from tests.laws.world import World
from tests.zoo import noise

PLAN = GradiVeQ(2, slice=8, collect=3, use=4)
SPEC = one_tensor(83)  # no multiple of the slice
BASIS = torch.linalg.qr(noise(16, 9).view(8, 2)).Q


def of_subspace(salt: int) -> Tensor:
    """Slices that lie in a plane; the last one is cut off, so it is left at zero."""
    full = (noise(22, salt).view(11, 2) @ BASIS.T).view(-1)
    return torch.cat([full[:80], torch.zeros(3)])


def learnt(ranks: int = 1) -> World:
    world = World(PLAN, ranks, spec=SPEC)
    for step in range(3):
        world.exchange([of_subspace(10 * step + rank) for rank in range(ranks)], step)
    return world


def test_gradients_of_a_subspace_are_exact():
    world = learnt()
    for step in range(3, 7):
        x = of_subspace(100 + step)
        assert torch.allclose(world.exchange([x.clone()], step)[0].mean, x, atol=1e-5)


def test_compressing_commutes_with_averaging():
    world = learnt(ranks=3)
    xs = world.inputs(50)
    apart = world.exchange([x.clone() for x in xs], 3)[0].mean
    alone = World(PLAN, 1, spec=SPEC)
    alone.states = world.states[:1]
    together = alone.exchange([sum(xs) / 3], 3)[0].mean
    assert torch.allclose(apart, together, atol=1e-5)


def test_it_is_the_projection_on_the_leading_components():
    world = learnt()
    u = world.states[0].vectors
    assert torch.allclose(u @ u.T, BASIS @ BASIS.T, atol=1e-4)
    x = noise(83)
    (out,) = world.exchange([x], 3)
    assert torch.allclose(out.mean[:80].view(10, 8), x[:80].view(10, 8) @ u @ u.T, atol=1e-5)


def test_the_steps_that_learn_are_dense_and_the_others_short():
    world, dense = World(PLAN, 2, spec=SPEC), World(Identity(), 2, spec=SPEC)
    sent = []
    for step in range(9):
        before = world.links[0].sent_bytes
        a, b = world.exchange(world.inputs(step), step), dense.exchange(dense.inputs(step), step)
        assert torch.equal(a[0].mean, b[0].mean) is (step % 7 < 3)
        sent.append(world.links[0].sent_bytes - before)
    assert sent == [4 * 83] * 3 + [4 * 2 * 11] * 4 + [4 * 83] * 2


def test_all_ranks_learn_the_same_components():
    world = learnt(ranks=3)
    assert all(torch.equal(world.states[0].vectors, s.vectors) for s in world.states)


def test_a_bucket_too_short_to_shrink_travels_dense():
    short = one_tensor(2)
    assert PLAN.payload_bits(short) == 64
    assert PLAN.traits(short).delta == 1.0


@pytest.mark.parametrize("bad", [{"dims": 0}, {"dims": 512}, {"collect": 0}, {"use": 0}])
def test_numbers_out_of_range_are_refused(bad: dict[str, int]):
    with pytest.raises(PlanError, match="gradiveq"):
        GradiVeQ(**bad)

from __future__ import annotations

import pytest
import torch

from laconic.compress import ErrorFeedback, GTopK, TopK
from laconic.compress.gtopk import _merge, _stages
from laconic.core.bucket import one_tensor
from laconic.core.errors import PayloadError, PlanError
from laconic.core.exchange import Seat, Turn
from laconic.core.payload import HEADER_BYTES
from laconic.kernels import rising_bytes
from laconic.topology import AllReduce
from tests.laws.world import World
from tests.zoo import noise

WORLDS = (1, 2, 3, 4, 5, 6, 7, 8)


def test_a_merge_by_hand():
    a = (torch.tensor([0, 3]), torch.tensor([5.0, 1.0]))
    b = (torch.tensor([3, 4]), torch.tensor([1.5, -4.0]))
    stays, dropped = _merge(a, b, 2)
    assert [t.tolist() for t in stays] == [[0, 4], [5, -4]]
    assert [t.tolist() for t in dropped] == [[3], [2.5]]


@pytest.mark.parametrize("world", WORLDS)
def test_everyone_says_to_whom_the_other_listens(world: int):
    table = [_stages(rank, world) for rank in range(world)]
    assert len({len(stages) for stages in table}) == 1
    for rank, stages in enumerate(table):
        for i, stage in enumerate(stages):
            for peer in stage.peers:
                other = table[peer][i]
                assert other.peers == (rank,)
                assert stage.hears == other.speaks


def test_the_example_of_the_catalogue_loses_nothing():
    """What a merge drops while its index survives elsewhere is neither applied nor put back in the paper's form."""
    xs = [[6.0, 5, 0, 0], [0, 5, 5.5, 0], [0, 4.0, 0, 3], [0, 0, 0, 2.0]]
    world = World(ErrorFeedback(GTopK(0.25)), 4, spec=one_tensor(4))
    out = world.exchange([torch.tensor(x) for x in xs])
    applied = 4 * out[0].mean
    waiting = sum(state.residual for state in world.states)
    assert torch.allclose(applied + waiting, torch.tensor(xs).sum(0))
    assert applied.count_nonzero() == 1


@pytest.mark.parametrize("world", WORLDS)
def test_over_many_steps_what_is_applied_and_what_waits_is_all_there_was(world: int):
    run = World(ErrorFeedback(GTopK(0.1)), world, spec=one_tensor(60))
    came = applied = torch.zeros(60, dtype=torch.float64)
    for step in range(12):
        xs = run.inputs(step)
        applied = applied + run.exchange(xs, step)[0].mean
        came = came + torch.stack(xs).double().mean(0)
    waiting = torch.stack([s.residual.double() for s in run.states]).mean(0)
    assert torch.allclose(applied + waiting, came, atol=1e-5)


@pytest.mark.parametrize("world", WORLDS)
def test_keeping_everything_is_the_mean(world: int):
    run = World(GTopK(1), world, spec=one_tensor(10))
    xs = run.inputs()
    for o in run.exchange(xs):
        assert torch.allclose(o.mean, torch.stack(xs).mean(0), atol=1e-6)


def test_alone_it_is_top_k():
    (a,), (b,) = (World(c, 1, "gather", one_tensor(50)).exchange([noise(50)]) for c in (GTopK(0.1), TopK(0.1)))
    assert torch.equal(a.mean, b.mean)


def test_ranks_take_turns_in_keeping_what_is_dropped():
    kept = []
    for step in range(4):
        world = World(GTopK(0.25), 4, spec=one_tensor(4))
        xs = [torch.eye(4)[r] * (r + 1) for r in range(4)]
        out = world.exchange(xs, step)
        kept.append([bool((o.sent - x).any()) for o, x in zip(out, xs, strict=True)])
    assert all(any(step[r] for step in kept) for r in range(4))


def test_a_round_moves_k_elements():
    world = World(GTopK(0.1), 8, spec=one_tensor(1000))
    world.exchange(world.inputs())
    assert all(link.sent_bytes == 3 * (HEADER_BYTES + 100 * 4 + rising_bytes(1000, 100)) for link in world.links)


def test_a_message_that_names_too_few_elements_is_refused():
    seat, spec = Seat(0, 2, AllReduce()), one_tensor(4)
    program = GTopK(0.5).exchange(noise(4), (), spec, Turn(seat, 0))
    program.send(None)
    message = program.send([]).message.clone()
    message[-1] = 0b1000  # of a bitmap
    with pytest.raises(PayloadError, match="does not name 2 of 4"):
        program.send([message])


def test_a_share_outside_zero_to_one_is_refused():
    with pytest.raises(PlanError, match="above 0 and at most 1"):
        GTopK(0)

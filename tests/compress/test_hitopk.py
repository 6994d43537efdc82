from __future__ import annotations

import pytest
import torch

from laconic.compress import ErrorFeedback, HiTopK
from laconic.compress.hitopk import _Floor
from laconic.core.bucket import one_tensor
from laconic.core.errors import PlanError
from laconic.core.exchange import Seat, Turn
from laconic.topology import AllReduce
from tests.laws.world import World

WORLDS = (1, 2, 3, 4, 5, 8)


def floor(rank: int, world: int, node: int) -> _Floor:
    return _Floor(HiTopK(0.1, node), one_tensor(100), Turn(Seat(rank, world, AllReduce()), 0))


def test_two_nodes_of_two_by_hand():
    # Shards are elements 0-1 and 2-3; each node keeps one element of its sum of each shard.
    xs = [[4.0, 1, 0, 0], [0.0, 2, 0, 8], [1.0, 0, 5, 0], [1.0, 0, 0, 4]]
    out = World(HiTopK(0.5, node=2), 4, spec=one_tensor(4)).exchange([torch.tensor(x) for x in xs])
    # Node 0: (4 3 | 0 8) keeps 4 and 8; node 1: (2 0 | 5 4) keeps 2 and 5.
    assert out[0].mean.tolist() == [6 / 4, 0, 5 / 4, 8 / 4]
    # Rank 0 owns shard 0 and answers for the 3 that was dropped, rank 3 owns shard 1 and answers for the 4.
    assert [o.sent.tolist() for o in out] == [[4, -2, 0, 0], [0, 2, 0, 8], [1, 0, 5, 0], [1, 0, 0, 0]]


def test_every_shard_has_one_owner_in_every_node():
    for world in WORLDS:
        for node in (1, 2, 3, 4):
            for rank in range(world):
                f = floor(rank, world, node)
                owned = [s for m in f.members() for s in f.owned(m)]
                assert sorted(owned) == list(range(node))
                for s in f.owned(rank):
                    assert rank in f.owners(s)
                    assert len(f.owners(s)) == -(-world // node)


@pytest.mark.parametrize("size", WORLDS)
@pytest.mark.parametrize("node", [1, 2, 3])
def test_keeping_everything_is_the_mean(size: int, node: int):
    world = World(HiTopK(1, node), size, spec=one_tensor(10))
    xs = world.inputs()
    for o, x in zip(world.exchange(xs), xs, strict=True):
        assert torch.allclose(o.mean, torch.stack(xs).mean(0), atol=1e-6)
        assert torch.equal(o.sent, x)


@pytest.mark.parametrize("size", WORLDS)
def test_over_many_steps_what_is_applied_and_what_waits_is_all_there_was(size: int):
    world = World(ErrorFeedback(HiTopK(0.1, node=2)), size, spec=one_tensor(60))
    came = applied = torch.zeros(60, dtype=torch.float64)
    for step in range(12):
        xs = world.inputs(step)
        applied = applied + world.exchange(xs, step)[0].mean
        came = came + torch.stack(xs).double().mean(0)
    waiting = torch.stack([s.residual.double() for s in world.states]).mean(0)
    assert torch.allclose(applied + waiting, came, atol=1e-5)


@pytest.mark.parametrize("bad", [{"ratio": 0.0}, {"node": 0}])
def test_bad_settings_are_refused(bad: dict[str, float]):
    with pytest.raises(PlanError, match="hitopk"):
        HiTopK(**bad)  # type: ignore[arg-type]

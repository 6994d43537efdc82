"""Asynchronous gossip between threads of one process: sums are conserved however steps and meetings interleave."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor

from laconic.core.errors import PeerError
from laconic.core.rng import Stream
from laconic.drive.pairs import OFFER, Pairs, name_of
from laconic.net.auth import Keys
from laconic.net.frames import Tag
from laconic.net.link import Link
from laconic.net.mailbox import Mailbox
from laconic.topology import Complete, Ring, Torus, WeightFile
from laconic.topology.graph import Weights
from laconic.topology.mixing.adpsgd import sides

LIMIT_S = 20.0


@contextmanager
def couple(models: list[list[Tensor]]) -> Iterator[list[Pairs]]:
    """Rank 0 listens, the others ask it."""
    keys = Keys.make()
    boxes = [Mailbox(name_of(r), keys=keys, host=None if r else "127.0.0.1") for r in range(len(models))]
    address = boxes[0].address
    pairs = [Pairs(models[0], boxes[0], (), Stream(0), Link(), LIMIT_S)]
    for rank, box in enumerate(boxes[1:], 1):
        box.meet({name_of(0): address}, LIMIT_S)
        pairs.append(Pairs(models[rank], box, (0,), Stream(rank), Link(), LIMIT_S))
    try:
        yield pairs
    finally:
        for pair in pairs[1:] + pairs[:1]:
            pair.close()


def met(asker: Pairs, times: int) -> bool:
    """Wait until it has."""
    with asker._lock:
        return asker._lock.wait_for(lambda: asker.meetings >= times, LIMIT_S)


def test_two_meet_in_the_middle():
    start = torch.zeros(3)
    with couple([[start], [start]]) as (listener, asker):
        asker.step([torch.tensor([2.0, 4.0, 6.0])])
        met(asker, 1)
        assert asker.meetings == 1
        assert torch.equal(asker.step([asker._seen[0]], meet=False)[0], torch.tensor([1.0, 2.0, 3.0]))
        assert torch.equal(listener.step([start], meet=False)[0], torch.tensor([1.0, 2.0, 3.0]))
        assert asker._link.sent_bytes > 12


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_sum_moves_by_the_steps_alone(dtype: torch.dtype):
    """Three workers step at will until both who ask have met the third 20 times."""
    start = [torch.zeros(5, dtype=dtype), torch.zeros(2, dtype=dtype)]
    taken = [0, 0, 0]
    with couple([start] * 3) as pairs:

        def train(rank: int) -> None:
            here = start
            while taken[rank] < 100 or min(pair.meetings for pair in pairs[1:]) < 20:
                here = pairs[rank].step([x + rank + 1 for x in here])
                taken[rank] += 1
                if rank:
                    met(pairs[rank], min(20, taken[rank] // 3))

        threads = [threading.Thread(target=train, args=(rank,)) for rank in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for pair in pairs:
            pair.rest()
        models = [pair.step(pair._seen, meet=False) for pair in pairs]
        for bucket in range(2):
            total = torch.stack([model[bucket].double() for model in models]).sum(0)
            exact = torch.full_like(total, taken[0] + 2 * taken[1] + 3 * taken[2])
            assert torch.allclose(total, exact, rtol=1e-4 if dtype == torch.float32 else 1e-12)


def test_one_who_left_is_not_asked_again_and_nobody_complains():
    start = [torch.zeros(2)]
    with couple([start, start]) as (listener, asker):
        listener.close()
        for _ in range(5):
            asker.step(asker._seen)
            asker.rest()


def test_a_model_of_another_shape_is_refused_by_name():
    keys, start = Keys.make(), [torch.zeros(2)]
    box = Mailbox(name_of(0), keys=keys, host="127.0.0.1")
    address = box.address
    listener = Pairs(start, box, (), Stream(0), Link(), LIMIT_S)
    with Mailbox(name_of(1), keys=keys) as stranger:
        stranger.meet({name_of(0): address}, LIMIT_S)
        stranger.send(name_of(0), OFFER, torch.zeros(3), Tag(bucket=0))
        listener._thread.join()
    with pytest.raises(PeerError, match="gossip/1 sent what does not fit bucket 0"):
        listener.step(start)
    listener.close()


def test_who_is_waited_for_in_vain_is_named():
    keys, start = Keys.make(), [torch.zeros(2)]
    box = Mailbox(name_of(0), keys=keys, host="127.0.0.1")
    address = box.address
    listener = Pairs(start, box, (), Stream(0), Link(), 0.1, bound=0)
    with Mailbox(name_of(1), keys=keys) as silent:
        silent.meet({name_of(0): address}, LIMIT_S)
        with pytest.raises(PeerError, match=r"gossip/0 waited 0.1 s after step 1 for gossip/1 \(step 0\) in vain"):
            listener.step(start)
    listener.close()


def test_what_breaks_the_thread_is_raised_by_the_next_step(monkeypatch: pytest.MonkeyPatch):
    start = [torch.zeros(2)]
    with couple([start, start]) as (listener, asker):
        monkeypatch.setattr(listener._box, "receive", lambda timeout_s: 1 / 0)
        listener._thread.join()
        with pytest.raises(PeerError, match="gossip/0 cannot meet anybody any more: ZeroDivisionError"):
            listener.step(start)
        with contextlib.suppress(PeerError):
            asker.step(start)


@pytest.mark.parametrize("world", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("graph", [Ring(), Torus(), Complete()], ids=str)
def test_two_sides_reach_everyone(graph: Ring | Torus | Complete, world: int):
    found = sides(graph.weights(world, 0, 0))
    assert found[0].asks
    for rank, side in enumerate(found):
        assert side.across
        assert all(found[other].asks != side.asks for other in side.across)
        assert all(rank in found[other].across for other in side.across)


def test_where_odd_and_even_will_not_do_the_distance_decides():
    """A star around 0 whose other ranks are 2 and 4 as well: even ranks alone."""
    third = {0: 0.2, 1: 0.2, 2: 0.2, 3: 0.2, 4: 0.2}
    star = Weights((third, *({0: 0.2, rank: 0.8} for rank in range(1, 5))))
    assert sides(star)[0].across == (1, 2, 3, 4)
    assert WeightFile("unused").name == "weights"

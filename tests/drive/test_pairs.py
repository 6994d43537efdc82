"""Asynchronous gossip between threads of one process: sums are conserved however steps and meetings interleave."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor

from laconic.core.errors import PeerError
from laconic.core.rng import Stream
from laconic.drive.pairs import ANSWER, OFFER, Pairs, name_of
from laconic.net.auth import Keys
from laconic.net.frames import Tag
from laconic.net.link import Link
from laconic.net.mailbox import Mailbox
from laconic.topology import Complete, Ring, Torus, WeightFile
from laconic.topology.graph import Weights
from laconic.topology.mixing.adpsgd import sides

LIMIT_S = 20.0


@contextmanager
def couple(models: list[list[Tensor]], bound: int | None = None) -> Iterator[list[Pairs]]:
    """Rank 0 listens, the others ask it."""
    keys = Keys.make()
    boxes = [Mailbox(name_of(r), keys=keys, host=None if r else "127.0.0.1") for r in range(len(models))]
    address = boxes[0].address
    pairs = [Pairs(models[0], boxes[0], (), Stream(0), Link(), LIMIT_S, bound=bound)]
    for rank, box in enumerate(boxes[1:], 1):
        box.meet({name_of(0): address}, LIMIT_S)
        pairs.append(Pairs(models[rank], box, (0,), Stream(rank), Link(), LIMIT_S, bound=bound))
    try:
        yield pairs
    finally:
        for pair in pairs[1:] + pairs[:1]:
            pair.close()


@contextmanager
def by_hand(timeout_s: float) -> Iterator[tuple[Mailbox, Pairs]]:
    """One who asks, and the mailbox of rank 0, which answers only what the test does."""
    keys = Keys.make()
    with Mailbox(name_of(0), keys=keys, host="127.0.0.1") as listener, ThreadPoolExecutor(1) as pool:
        box = Mailbox(name_of(1), keys=keys)
        calling = pool.submit(box.meet, {name_of(0): listener.address}, LIMIT_S)
        while name_of(1) not in listener.peers:
            listener.receive(0.01)
        calling.result()
        asker = Pairs([torch.zeros(1)], box, (0,), Stream(1), Link(), timeout_s)
        yield listener, asker
        asker.close()


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
    with pytest.raises(PeerError, match="Rank 1 sent what does not fit bucket 0"):
        listener.step(start)
    listener.close()


def test_who_is_waited_for_in_vain_is_named():
    keys, start = Keys.make(), [torch.zeros(2)]
    box = Mailbox(name_of(0), keys=keys, host="127.0.0.1")
    address = box.address
    listener = Pairs(start, box, (), Stream(0), Link(), 0.1, bound=0)
    with Mailbox(name_of(1), keys=keys) as silent:
        silent.meet({name_of(0): address}, LIMIT_S)
        with pytest.raises(PeerError, match=r"Rank 0 waited 0.1 s after step 1 for Rank 1 \(step 0\) in vain"):
            listener.step(start)
    listener.close()


def model_of(pairs: Pairs) -> float:
    return float(pairs.step(pairs._seen, meet=False)[0])


@pytest.mark.parametrize("first", ["asker", "listener"])
def test_who_has_loaded_meets_only_those_who_have(first: str):
    """A model of before and one from a checkpoint are not averaged, whoever loads first."""
    old, loaded = [torch.zeros(1)], [torch.full((1,), 100.0)]
    with couple([old, old]) as (listener, asker):
        early, late = (asker, listener) if first == "asker" else (listener, asker)
        early.reset(loaded)
        asker.step([asker._seen[0] + 8])
        for _ in range(3):  # the listener's thread has looked at the offer, or at later ones
            listener.step(listener._seen)
            listener._thread.join(0.06)
        assert (listener.meetings, asker.meetings) == (0, 0)
        late.reset(loaded)
        asker.step([asker._seen[0] + 2])
        assert met(asker, 1)
        asker.rest()
        assert model_of(asker) == model_of(listener) == (105 if first == "asker" else 101)


def test_a_model_loaded_during_a_meeting_is_not_mixed_with_the_answer():
    with by_hand(LIMIT_S) as (slow, asker):
        asker.step([torch.ones(1)])
        offer = slow.receive(LIMIT_S)
        asker.reset([torch.full((1,), 10.0)])
        slow.send(name_of(1), ANSWER, torch.full((1,), -99.0), offer.tag)
        asker.step(asker._seen)
        offer = slow.receive(LIMIT_S)
        assert (float(offer.payload), offer.tag.part) == (10.0, 1)
        slow.send(name_of(1), ANSWER, torch.full((1,), 20.0), offer.tag)
        assert met(asker, 1)
        assert model_of(asker) == 15.0


def test_a_neighbour_that_has_loaded_already_is_not_waited_for():
    """Its clock begins anew, which is not to be taken for being far behind."""
    start = [torch.zeros(1)]
    with couple([start, start], bound=1) as (listener, asker):
        listener._timeout_s = asker._timeout_s = 0.5
        for _ in range(4):
            asker.step(asker._seen)
            listener.step(listener._seen)
        asker.reset(start)
        asker.step(asker._seen)
        listener.step(listener._seen)
        listener.step(listener._seen)
        listener.reset(start)
        for _ in range(3):
            listener.step(listener._seen)
            asker.step(asker._seen)


def test_a_neighbour_that_leaves_is_not_waited_for_any_longer():
    start = [torch.zeros(1)]
    with couple([start, start], bound=0) as (listener, asker):
        listener._timeout_s = 1000.0
        waits = threading.Thread(target=listener.step, args=(start,), daemon=True)
        waits.start()
        with listener._lock:
            assert listener._lock.wait_for(lambda: listener._clock == 1, LIMIT_S)
        asker.close()
        waits.join(LIMIT_S)
        assert not waits.is_alive()


def test_an_answer_is_waited_for_no_longer_than_the_time_limit():
    with by_hand(0.1) as (_, asker):
        start = [torch.zeros(1)]
        asker.step(start)
        asker._thread.join(LIMIT_S)
        with pytest.raises(PeerError, match=r"Rank 1 waited 0.1 s for the answer of Rank 0 in vain"):
            asker.step(start)


def test_neighbours_of_one_who_stopped_learn_why():
    start = [torch.zeros(1)]
    with couple([start, start]) as (listener, asker):
        asker.close("Rank 1 found NaN.")
        listener._thread.join(LIMIT_S)
        with pytest.raises(PeerError, match=r"Rank 0 was left by Rank 1: Rank 1 found NaN\."):
            listener.step(start)
        with pytest.raises(PeerError, match=r"has taken leave of its neighbours: Rank 1 found NaN\."):
            asker.step(start)


def test_a_replica_may_be_collected_in_the_thread_that_meets(monkeypatch: pytest.MonkeyPatch):
    start = [torch.zeros(2)]
    with couple([start, start]) as (listener, _):
        monkeypatch.setattr(listener._box, "receive", lambda timeout_s: listener.close())
        listener._thread.join(LIMIT_S)
        assert not listener._thread.is_alive()
        assert listener._error is None


def test_what_breaks_the_thread_is_raised_by_the_next_step(monkeypatch: pytest.MonkeyPatch):
    start = [torch.zeros(2)]
    with couple([start, start]) as (listener, asker):
        monkeypatch.setattr(listener._box, "receive", lambda timeout_s: 1 / 0)
        listener._thread.join()
        with pytest.raises(PeerError, match="Rank 0 cannot meet anybody any more: ZeroDivisionError"):
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

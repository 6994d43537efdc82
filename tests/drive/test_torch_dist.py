"""Real processes over gloo: requests, launch order in debug mode, peers that die or stop."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from laconic.compress.identity import add_up
from laconic.core.clock import ManualClock
from laconic.core.errors import MismatchError, PeerError
from laconic.core.exchange import Deal, Gather, Max, Mean, Sum, Swap, Together, deal_ragged, gather_ragged
from laconic.drive.base import Place
from laconic.drive.roster import Roster
from laconic.drive.torch_dist import TorchDist
from laconic.net.link import Link, all_reduce_bytes
from tests.processes import Outcome, join, results, run

TIMEOUT_S = 8.0


def driver(rank: int, world: int, *, debug: bool = False, timeout_s: float = 30) -> TorchDist:
    group = join(timeout_s)
    roster = Roster(dist.distributed_c10d._get_default_store(), rank, world)
    return TorchDist(group, Link(), roster, debug=debug)


def bytes_of(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.uint8)


async def _everything(rank: int, world: int) -> Any:
    mean = await Mean(torch.tensor([float(rank), 3.0]))
    empty = await Mean(torch.empty(0))
    half = await Mean(torch.tensor([60000.0], dtype=torch.float16))
    equal = await Gather(bytes_of(rank, 9))
    unequal = await Gather(torch.full((rank,), rank, dtype=torch.uint8), tuple(range(world)))
    dealt = await Deal(tuple(torch.full((to + 1,), 10 * rank + to, dtype=torch.uint8) for to in range(world)))
    ring = ((rank - 1) % world, (rank + 1) % world)
    swapped = await Swap(bytes_of(rank), ring)
    both = await Together((Mean(torch.tensor([1.0])), Gather(bytes_of(rank))))
    lists = [[m.tolist() for m in ms] for ms in (equal, unequal, dealt, swapped, both[1])]
    return mean.tolist(), empty.tolist(), half.tolist(), lists, both[0].tolist()


def _requests(rank: int, world: int, debug: bool) -> Any:
    d = driver(rank, world, debug=debug)
    d.launch(Place(0, 0), _everything(rank, world))
    return d.finish()[0], d.link.sent_bytes


@pytest.mark.parametrize("debug", [False, True])
def test_every_request_is_answered(debug: bool):
    for rank, ((mean, empty, half, lists, together), sent) in enumerate(results(3, _requests, debug)):
        equal, unequal, dealt, swapped, gathered = lists
        assert mean == pytest.approx([1.0, 3.0])
        assert empty == []
        assert half == pytest.approx([60000.0], rel=1e-3)  # it was divided before it was summed
        assert equal == [[0, 9], [1, 9], [2, 9]]
        assert unequal == [[], [1], [2, 2]]
        assert dealt == [[10 * r + rank] * (rank + 1) for r in range(3)]
        assert swapped == [[(rank - 1) % 3], [(rank + 1) % 3]]
        assert gathered == [[0], [1], [2]]
        assert together == pytest.approx([1.0])
        # Means of 8, 2 and 4 bytes by the ring's formula; gathers of 2, 2 (padded) and 1; deals to others; 2 swaps.
        assert sent == (11 + 3 + 5) + 2 * (2 + 2 + 1) + (6 - (rank + 1)) + 2


async def _summed(rank: int) -> list[float]:
    summed = await Sum(torch.tensor([2**40 + rank, -1]))
    return summed.tolist() + (await Max(torch.tensor([float(rank), -float(rank)]))).tolist()


def _sums(rank: int, world: int) -> Any:
    d = driver(rank, world)
    d.launch(Place(0, 0), _summed(rank))
    return d.finish()[0], d.link.sent_bytes


def test_sums_of_integers_are_exact_largest_are_largest_and_both_are_counted():
    assert results(3, _sums) == [([3 * 2**40 + 3, -3, 2.0, 0.0], all_reduce_bytes(16, 3) + all_reduce_bytes(8, 3))] * 3


async def _both_ways(rank: int) -> tuple[Tensor, Tensor]:
    values = torch.arange(777.0) + rank
    return (await add_up(values.clone())).mean, (await add_up(values.clone(), gather=True)).mean


def _added(rank: int, world: int) -> Any:
    d = driver(rank, world)
    d.launch(Place(0, 0), _both_ways(rank))
    reduced, gathered = d.finish()[0]
    return torch.equal(reduced, gathered), float(gathered[0]), d.link.sent_bytes


def test_sums_may_be_gathered_and_added_up_by_everyone():
    assert results(3, _added) == [(True, 3.0, all_reduce_bytes(4 * 777, 3) + 2 * 4 * 777)] * 3


async def _ragged(rank: int, world: int) -> Any:
    gathered = await gather_ragged(torch.full((rank,), rank, dtype=torch.uint8), most=9)
    nothing = await gather_ragged(bytes_of(), most=9)
    dealt = await deal_ragged(tuple(torch.full((rank * to,), rank, dtype=torch.uint8) for to in range(world)), most=9)
    peers, lengths = (((2,), (2,)), ((), ()), ((0,), (0,)))[rank]
    swapped = await Swap(bytes_of(8, 9) if rank == 2 else bytes_of(), peers, lengths)
    return [[m.tolist() for m in ms] for ms in (gathered, nothing, dealt, swapped)]


def _unknown_lengths(rank: int, world: int, debug: bool) -> Any:
    d = driver(rank, world, debug=debug)
    d.launch(Place(0, 0), _ragged(rank, world))
    return d.finish()[0], d.link.sent_bytes


@pytest.mark.parametrize("debug", [False, True])
def test_messages_of_unknown_lengths_arrive(debug: bool):
    for rank, (out, sent) in enumerate(results(3, _unknown_lengths, debug)):
        gathered, nothing, dealt, swapped = out
        assert gathered == [[], [1], [2, 2]]
        assert nothing == [[], [], []]
        assert dealt == [[], [1] * rank, [2] * 2 * rank]
        assert swapped == [[[8, 9]], [], [[]]][rank]
        # Three rounds of lengths, a gather padded to 2, what is dealt to others, one swap of rank 2.
        assert sent == 3 * 16 + 4 + (0, 2, 2)[rank] + (0, 0, 2)[rank]


async def _two_means(rank: int, start: float) -> tuple[float, float]:
    first = await Mean(torch.tensor([start + rank]))
    second = await Mean(first.clone() + rank)
    return float(first), float(second)


def _many(rank: int, world: int) -> list[Any]:
    d = driver(rank, world)
    out = []
    for step in range(2):
        for bucket in range(20):
            d.launch(Place(step, bucket), _two_means(rank, 100.0 * bucket + step))
        out += d.finish()
    return [*out, d.finish()]


def test_results_come_in_launch_order_and_only_once():
    for out in results(2, _many):
        *pairs, leftover = out
        firsts = [100.0 * bucket + step + 0.5 for step in range(2) for bucket in range(20)]
        assert [first for first, _ in pairs] == pytest.approx(firsts)
        assert [second for _, second in pairs] == pytest.approx([f + 0.5 for f in firsts])
        assert leftover == []


def _twice(rank: int, world: int) -> str:
    d = driver(rank, world)
    d.launch(Place(0, 0), _two_means(rank, 0.0))
    second = _two_means(rank, 1.0)
    with pytest.raises(AssertionError) as caught:
        d.launch(Place(0, 0), second)
    second.close()
    d.finish()
    return str(caught.value)


def test_a_place_is_launched_once():
    assert all("step 0, bucket 0 is under way already" in said for said in results(2, _twice))


def _swapped(rank: int, world: int) -> str:
    d = driver(rank, world, debug=True, timeout_s=20)
    order = (0, 1) if rank != 2 else (1, 0)
    try:
        for bucket in order:
            d.launch(Place(7, bucket), _two_means(rank, 0.0))
        d.finish()
    except MismatchError as error:
        return str(error)
    return "nothing was noticed"


def test_debug_mode_catches_a_swapped_launch_order_on_every_rank():
    said = results(3, _swapped)
    assert len(set(said)) == 1
    assert "Rank 2 is about to do Mean of 4 bytes in round 0 of step 7, bucket 1" in said[0]
    assert "but rank 0 Mean of 4 bytes in round 0 of step 7, bucket 0" in said[0]
    assert "same order" in said[0]


async def _odd_sizes(rank: int) -> None:
    await Mean(torch.zeros(4 + (rank == 1)))


async def _odd_kinds(rank: int) -> None:
    await (Gather(bytes_of(1)) if rank == 1 else Mean(torch.zeros(1)))


def _different(rank: int, world: int, kinds: bool) -> str:
    d = driver(rank, world, debug=True, timeout_s=20)
    with pytest.raises(MismatchError) as caught:
        d.launch(Place(0, 0), (_odd_kinds if kinds else _odd_sizes)(rank))
    return str(caught.value)


def test_debug_mode_catches_other_sizes_and_other_requests():
    assert all("Mean of 20 bytes" in s and "rank 0 Mean of 16 bytes" in s for s in results(2, _different, False))
    assert all("Rank 1 is about to do Gather of 1 bytes" in s for s in results(2, _different, True))


def _failing(rank: int, world: int) -> tuple[str, float]:
    async def fails() -> None:
        await Mean(torch.zeros(1))
        raise ValueError("inside the exchange")

    d = driver(rank, world)
    d.launch(Place(0, 0), fails())
    try:
        d.finish()
    except ValueError as error:
        text = str(error)
    d.launch(Place(1, 0), _two_means(rank, 0.0))
    return text, d.finish()[0][0]


def test_an_error_inside_an_exchange_comes_out_and_the_driver_goes_on():
    assert results(2, _failing) == [("inside the exchange", 0.5)] * 2


class _Ticking(ManualClock):
    def now(self) -> float:
        self.seconds += 1.0
        return self.seconds


def _clocked(rank: int, world: int) -> float:
    d = driver(rank, world)
    d._clock = _Ticking()
    d.launch(Place(0, 0), _two_means(rank, 0.0))
    d.finish()
    return d.waited_s


def test_waiting_is_measured_by_the_clock():
    assert results(2, _clocked) == [2.0, 2.0]  # two rounds, one tick each


def _loses_a_peer(rank: int, world: int, how: int) -> str:
    """Rank 1 gets a signal after the first step; the others say what they then heard."""
    d = driver(rank, world, timeout_s=TIMEOUT_S)
    store = dist.distributed_c10d._get_default_store()
    d.launch(Place(0, 0), _two_means(rank, 0.0))
    d.finish()
    if rank == 1:
        store.set("pid", str(os.getpid()))
        os.kill(os.getpid(), how)
    store.get("pid")
    try:
        d.launch(Place(1, 4, "fc.weight"), _two_means(rank, 0.0))
        d.finish()
    except PeerError as error:
        said = str(error)
    if how == signal.SIGSTOP:
        # All survivors have reported before the one that hangs is ended.
        store.set(f"said/{rank}", b"1")
        store.wait([f"said/{r}" for r in range(world) if r != 1], timedelta(seconds=30))
        os.kill(int(store.get("pid")), signal.SIGKILL)
    return said


def _check_named(outcomes: list[Outcome], world: int) -> None:
    assert "code -9" in outcomes[1].error
    for rank in set(range(world)) - {1}:
        assert not outcomes[rank].error, outcomes[rank].error
        text = outcomes[rank].result
        assert text.startswith(f"Rank {rank} lost a peer at step 1, bucket 4 (fc.weight)")
        assert "No sign of rank 1:" in text


@pytest.mark.parametrize("world", [2, 3, 4])
def test_a_killed_rank_is_named_by_every_survivor(world: int):
    _check_named(run(world, _loses_a_peer, signal.SIGKILL, timeout_s=60), world)


def test_a_stopped_rank_is_named_by_every_survivor():
    _check_named(run(3, _loses_a_peer, signal.SIGSTOP, timeout_s=60), 3)

"""Hop programs on real processes over gloo: sums, tags, several buckets at once, peers that die."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from laconic.core.errors import PeerError, UsageError
from laconic.core.exchange import Max, Mean, Sum, Swap, Together
from laconic.drive.base import Place
from laconic.drive.hops import Crew, run_in_order, tags
from laconic.drive.reduce_by import reduce_by
from laconic.drive.roster import Roster
from laconic.drive.torch_dist import TorchDist
from laconic.net.link import Link
from laconic.topology import AllReduce
from laconic.topology.choice import candidates
from laconic.topology.programs import NAMES, build
from tests.processes import join, results, run

CPU = torch.device("cpu")


def driver(rank: int, world: int, algorithm: str, timeout_s: float = 30) -> TorchDist:
    group = join(timeout_s) if not dist.is_initialized() else dist.group.WORLD
    assert group is not None
    found = TorchDist(group, Link(), Roster(dist.distributed_c10d._get_default_store(), rank, world))
    reduce_by(AllReduce(algorithm), found, CPU)
    return found


def floats(rank: int, numel: int) -> Tensor:
    return torch.randn(numel, generator=torch.Generator().manual_seed(rank))


async def _sums(rank: int, world: int, numel: int) -> Any:
    whole = await Sum(torch.arange(numel) * (rank + 1))
    mean = await Mean(floats(rank, numel))
    most = await Max(floats(rank, numel).view(1, -1))
    together = await Together((Sum(torch.full((3,), rank)), Max(torch.full((2, 2), float(rank))), Mean(torch.ones(5))))
    return whole, mean, most, together


def _against_native(rank: int, world: int) -> list[str]:
    """What every algorithm and size gave, against dist.all_reduce; complaints come back."""
    complaints = []
    for name in NAMES:
        d = driver(rank, world, name)
        for numel in (0, world - 1, 1000):
            d.launch(Place(numel, 3), _sums(rank, world, numel))
            whole, mean, most, (small, square, ones) = d.finish()[0]
            total, largest = floats(rank, numel), floats(rank, numel).view(1, -1)
            if numel:
                dist.all_reduce(total)
                dist.all_reduce(largest, dist.ReduceOp.MAX)
            fine = (
                torch.equal(whole, torch.arange(numel) * (world * (world + 1) // 2))
                and torch.allclose(mean, total / world, atol=1e-6)
                and torch.equal(most, largest)
                and torch.equal(small, torch.full((3,), world * (world - 1) // 2))
                and torch.equal(square, torch.full((2, 2), world - 1.0))
                and torch.allclose(ones, torch.ones(5))
            )
            first = mean.clone()
            if numel:
                dist.broadcast(first, 0)
            if not fine or not torch.equal(first, mean):
                complaints.append(f"{name} {numel}")
        d.close()
    return complaints


@pytest.mark.parametrize("world", [1, 2, 3, 5, 6, 8])
def test_every_algorithm_is_all_reduce(world: int):
    assert results(world, _against_native, timeout_s=100) == [[]] * world


async def _two(rank: int, bucket: int, numel: int) -> Tensor:
    first = await Mean(torch.full((numel,), float(rank + bucket)))
    return await Mean(first + rank)


def _many(rank: int, world: int, name: str) -> Any:
    d = driver(rank, world, name)
    out = []
    for step in range(2):
        for bucket in range(12):
            d.launch(Place(step, bucket), _two(rank, bucket, 100 + 1000 * (bucket % 3)))
        out += [float(m[0]) if m.eq(m[0]).all() else None for m in d.finish()]
    return out, d.link.sent_bytes, d.link.messages


@pytest.mark.parametrize("name", ["ring", "mesh"])
def test_many_buckets_at_once_are_not_mixed_up_and_every_hop_is_counted(name: str):
    world, middle = 4, 1.5
    for rank, (means, sent, messages) in enumerate(results(world, _many, name)):
        assert means == pytest.approx([bucket + 2 * middle for bucket in range(12)] * 2)
        hops = [s for n in (100, 1100, 2100) for r in build(name, rank, world, n) for s in r.sends]
        assert sent == 2 * 4 * 2 * sum(4 * (s.stop - s.start) for s in hops)
        assert messages == 2 * 4 * 2 * len(hops)


def _swapped(rank: int, world: int) -> list[float]:
    """One rank launches its buckets the other way round: tags keep them apart, where gloo's own would mix sums."""
    d = driver(rank, world, "ring")
    order = (0, 1) if rank else (1, 0)
    for bucket in order:
        d.launch(Place(0, bucket), _two(rank, 10 * bucket, 50))
    found = dict(zip(order, d.finish(), strict=True))
    return [float(found[b][0]) for b in (0, 1)]


def test_tags_keep_buckets_apart_even_in_another_order():
    for out in results(3, _swapped):
        assert out == pytest.approx([2.0, 12.0])


def _in_order(rank: int, world: int) -> bool:
    """The path for backends without tags, here over gloo."""
    group = join()
    fine = True
    for name in NAMES:
        t = torch.arange(1000) * (rank + 1)
        run_in_order(build(name, rank, world, 1000), t, torch.add, group)
        fine = fine and torch.equal(t, torch.arange(1000) * (world * (world + 1) // 2))
    return fine


@pytest.mark.parametrize("world", [2, 5])
def test_without_tags_the_order_of_rounds_is_enough(world: int):
    assert all(results(world, _in_order))


def _auto(rank: int, world: int) -> Any:
    group = join()
    d = TorchDist(group, Link(), Roster(dist.distributed_c10d._get_default_store(), rank, world))
    said = reduce_by(AllReduce("auto"), d, CPU)
    d.launch(Place(0, 0), _two(rank, 0, 1000))
    return said, float(d.finish()[0][0]), [d.program.choice.pick(n) for n in (4, 10**4, 10**8)]


def test_auto_measures_once_and_all_ranks_choose_alike():
    out = results(3, _auto)
    assert out[0] == out[1] == out[2]
    said, mean, picks = out[0]
    assert said.startswith("auto: ")
    assert mean == pytest.approx(2.0)
    assert set(picks) <= set(candidates(3))


def _late(rank: int, world: int) -> list[int]:
    """A peer is slower than the main thread looks up: the message still comes."""
    d = driver(rank, world, "ring")
    if rank:
        _a_while()

    async def swap() -> Any:
        return await Swap(torch.tensor([rank], dtype=torch.uint8), (1 - rank,))

    async def add() -> Any:
        return await Sum(torch.tensor([rank, 1]))

    d.launch(Place(0, 0), swap())
    d.launch(Place(0, 1), add())
    swapped, added = d.finish()
    return [int(swapped[0]), *added.tolist()]


def _a_while() -> None:
    """Longer than drive/torch_dist waits before it looks up: nothing but time itself can show this."""
    store = dist.distributed_c10d._get_default_store()
    with pytest.raises(dist.DistStoreError):
        store.wait(["nobody sets this"], timedelta(seconds=1.6))


def test_a_late_message_does_not_cost_the_connection():
    assert results(2, _late) == [[1, 1, 2], [0, 1, 2]]


def _loses_a_peer(rank: int, world: int) -> str:
    d = driver(rank, world, "ring", timeout_s=8)
    d.launch(Place(0, 0), _two(rank, 0, 10))
    d.finish()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        d.launch(Place(1, 4, "fc.weight"), _two(rank, 0, 10))
        d.finish()
    except PeerError as error:
        return str(error)
    return "nothing was noticed"


def test_a_killed_rank_is_named_by_every_survivor():
    outcomes = run(4, _loses_a_peer, timeout_s=60)
    for rank in (0, 2, 3):
        assert not outcomes[rank].error, outcomes[rank].error
        assert outcomes[rank].result.startswith(f"Rank {rank} lost a peer at step 1, bucket 4 (fc.weight)")
        assert "No sign of rank 1:" in outcomes[rank].result


def test_a_job_hands_over_its_error_and_can_be_asked_for():
    crew = Crew(hands=1)

    def fail() -> None:
        raise RuntimeError("no such peer")

    job = crew.give(fail)
    with pytest.raises(RuntimeError, match="no such peer"):
        job.wait()
    assert job.is_completed()
    crew.give(lambda: None).wait(timedelta(seconds=5))
    crew.close()


def test_tags_are_distinct_positive_and_fit_31_bits():
    taken = [next(tags(step, bucket)) for step in (0, 1) for bucket in (0, 1, 8191)]
    assert len(set(taken)) == 6
    first, second = (t for t, _ in zip(tags(0, 0), range(2), strict=False))
    assert second - first == 64
    assert max(tag for _, tag in zip(range(2047), tags(1, 8191), strict=False)) + 63 < 2**31
    with pytest.raises(UsageError, match="larger buckets"):
        next(tags(0, 8192))

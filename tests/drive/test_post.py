"""Messages between two ranks, on real processes: directions, many in flight, and a peer that is only slow."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import torch
from torch import Tensor

from laconic.core.errors import PayloadError
from laconic.core.exchange import Post, Swap, post_ragged
from laconic.drive import torch_dist
from laconic.drive.base import Place
from laconic.drive.lockstep import lockstep
from laconic.net.link import Link
from tests.drive.test_torch_dist import driver
from tests.processes import results


def bytes_of(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.uint8)


async def _round(rank: int, world: int, hop: int) -> list[list[int]]:
    """Everyone tells the rank `hop` further on; rank 1 tells two, with words of their own."""
    to, source = (rank + hop) % world, (rank - hop) % world
    first = await Post((bytes_of(rank, hop),), (to,), (source,), (2,))
    ragged = await post_ragged(torch.full((rank,), rank, dtype=torch.uint8), (to,), (source,), most=world)
    messages = (bytes_of(10), bytes_of(12, 12)) if rank == 1 else ()
    last = await Post(
        messages, (0, 2)[: len(messages)], (1,) if rank in (0, 2) else (), {0: (1,), 2: (2,)}.get(rank, ())
    )
    return [m.tolist() for ms in (first, ragged, last) for m in ms]


def _expected(rank: int, world: int, hop: int) -> list[list[int]]:
    source = (rank - hop) % world
    last = {0: [[10]], 2: [[12, 12]]}.get(rank, [])
    return [[source, hop], [source] * source, *last]


@pytest.mark.parametrize("world", [3, 4, 5])
def test_virtual_workers_hear_those_who_write_to_them_and_all_of_it_is_counted(world: int):
    links = [Link() for _ in range(world)]
    out = lockstep([_round(rank, world, 2) for rank in range(world)], links)  # type: ignore[misc]
    assert out == [_expected(rank, world, 2) for rank in range(world)]
    assert [link.sent_bytes for link in links] == [2 + 8 + rank + 3 * (rank == 1) for rank in range(world)]
    assert links[1].messages == 5


def test_lockstep_notices_a_rank_that_waits_for_one_that_does_not_write():
    async def one_sided(rank: int) -> None:
        await Post((), (), (1 - rank,), (1,))

    with pytest.raises(AssertionError, match="waits for rank 1, which does not write"):
        lockstep([one_sided(0), one_sided(1)])  # type: ignore[list-item]


def test_a_length_nobody_could_mean_is_refused_with_the_name_of_its_rank():
    async def too_long(rank: int) -> None:
        await post_ragged(torch.zeros(9, dtype=torch.uint8), (1 - rank,), (1 - rank,), most=8)

    with pytest.raises(PayloadError, match="Rank 1 announces a message of 9 bytes"):
        lockstep([too_long(0), too_long(1)])  # type: ignore[list-item]


def _many(rank: int, world: int, debug: bool) -> Any:
    d = driver(rank, world, debug=debug)
    for bucket in range(8):
        d.launch(Place(0, bucket), _round(rank, world, 1 + bucket % 2))  # type: ignore[arg-type]
    return d.finish(), d.link.sent_bytes


@pytest.mark.parametrize("debug", [False, True])
def test_eight_in_flight_between_processes_are_not_mixed_up(debug: bool):
    for rank, (out, sent) in enumerate(results(3, _many, debug)):
        assert out == [_expected(rank, 3, 1 + bucket % 2) for bucket in range(8)]
        assert sent == 8 * (2 + 8 + rank + 3 * (rank == 1))


async def _to_each_other(rank: int) -> Any:
    posted = await Post((bytes_of(rank),), (1 - rank,), (1 - rank,), (1,))
    swapped = await Swap(bytes_of(rank), (1 - rank,))
    return int(posted[0]), int(swapped[0])


def _slow_peer(rank: int, world: int) -> Any:
    """Rank 1 writes only after rank 0 has looked up three times in vain."""
    torch_dist._LOOK_UP = timedelta(milliseconds=20)  # this process is ours alone
    d = driver(rank, world)
    looked = [0]

    def trouble() -> bool:
        looked[0] += 1
        if looked[0] == 3:
            d.roster.store.set("waited", "three times")
        return False

    d.roster.trouble = trouble  # type: ignore[method-assign]
    if rank == 1:
        d.roster.store.wait(["waited"], timedelta(seconds=30))
    d.launch(Place(0, 0), _to_each_other(rank))
    return d.finish()[0], looked[0]


def test_a_peer_that_is_only_slow_is_waited_for():
    (first, looked), (second, _) = results(2, _slow_peer)
    assert first == (1, 1)
    assert second == (0, 0)
    assert looked >= 3

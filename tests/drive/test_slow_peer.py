"""Messages between two ranks, on real processes: a peer that is only slow."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch

from laconic.core.exchange import Swap
from laconic.drive import torch_dist
from laconic.drive.base import Place
from tests.drive.test_torch_dist import driver
from tests.processes import results


async def _to_each_other(rank: int) -> Any:
    (said,) = await Swap(torch.tensor([rank], dtype=torch.uint8), (1 - rank,))
    return int(said)


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
    assert (first, second) == (1, 0)
    assert looked >= 3

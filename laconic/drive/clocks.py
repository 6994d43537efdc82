"""How far rank 0's clock is ahead of this rank's: a few ping-pongs with rank 0, one rank after the other."""

from __future__ import annotations

import torch
import torch.distributed as dist

from laconic.core.clock import Clock
from laconic.trace.merge import PingPong, Reading, reading

PINGS = 8


def compare_clocks(group: dist.ProcessGroup, clock: Clock, device: torch.device) -> Reading:
    """All ranks must call it together, with nothing else under way on this group."""
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    if rank:
        return reading([_ping(group, clock, device) for _ in range(PINGS)])
    for other in range(1, world):
        for _ in range(PINGS):
            _pong(group, other, clock, device)
    return clock.now(), 0.0


def _ping(group: dist.ProcessGroup, clock: Clock, device: torch.device) -> PingPong:
    word = torch.zeros(1, dtype=torch.float64, device=device)
    sent = clock.now()
    dist.send(word, group=group, group_dst=0)
    dist.recv(word, group=group, group_src=0)
    answer = float(word)
    return PingPong(sent, answer, clock.now())


def _pong(group: dist.ProcessGroup, other: int, clock: Clock, device: torch.device) -> None:
    word = torch.zeros(1, dtype=torch.float64, device=device)
    dist.recv(word, group=group, group_src=other)
    word.fill_(clock.now())
    dist.send(word, group=group, group_dst=other)

"""The long vote: which parameters had a gradient, and whether any was NaN or infinite, on which rank.

Two bits a parameter, gathered from all ranks. A step is committed only if no rank objects; otherwise no state changes
anywhere. Most steps need only the sums of these bits (riders.py): this vote is held when one of them objects, and where
an answer is taken later than the step it belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from laconic.core.exchange import Exchanged, Gather
from laconic.kernels import reference as kernel


@dataclass(frozen=True)
class Verdict:
    used: tuple[bool, ...]  # by anyone
    bad: tuple[bool, ...]  # on any rank
    culprit: tuple[int, int] | None  # (rank, parameter number) of the first objection


async def census(used: Sequence[bool], bad: Sequence[bool], device: torch.device) -> Exchanged:
    """`Exchanged.state` is the Verdict; nothing is averaged."""
    bits = torch.tensor([*used, *bad], dtype=torch.uint8, device=device)
    votes = await Gather(kernel.pack(bits, 1))
    table = [kernel.unpack(vote, 1, bits.numel()).bool() for vote in votes]
    return Exchanged(bits, bits, _judge(torch.stack(table).cpu(), len(used)))


def _judge(table: Tensor, count: int) -> Verdict:
    used, bad = table[:, :count], table[:, count:]
    where = bad.nonzero()
    culprit = (int(where[0, 0]), int(where[0, 1])) if len(where) else None
    return Verdict(tuple(used.any(0).tolist()), tuple(bad.any(0).tolist()), culprit)

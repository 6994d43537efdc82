"""Before the first exchange all ranks must be the same program: same version, plan, parameters.

Each rank describes itself in lines; digests are compared first, whole descriptions only where they differ. Every rank
raises the same sentence, so none is left waiting.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from laconic.core.errors import MismatchError


def agree(lines: Sequence[str], group: dist.ProcessGroup, device: torch.device) -> None:
    text = "\n".join(lines).encode()
    digest = _tensor(hashlib.sha256(text).digest(), device)
    if len({bytes(t.cpu().numpy()) for t in _all_gather(digest, group)}) == 1:
        return
    texts = [raw.decode().split("\n") for raw in _gather_bytes(text, group, device)]
    for rank, theirs in enumerate(texts):
        if theirs != texts[0]:
            raise MismatchError(first_difference(texts[0], theirs, rank))


def first_difference(ours: Sequence[str], theirs: Sequence[str], rank: int) -> str:
    """The sentence for rank `rank` against rank 0."""
    for a, b in zip(ours, theirs, strict=False):
        if a != b:
            return f"Rank {rank} is not the same program as rank 0: it has '{b}' where rank 0 has '{a}'."
    longer, who = (theirs, rank) if len(theirs) > len(ours) else (ours, 0)
    extra = longer[min(len(ours), len(theirs))]
    return f"Rank {rank} is not the same program as rank 0: only rank {who} has '{extra}'."


def _gather_bytes(text: bytes, group: dist.ProcessGroup, device: torch.device) -> list[bytes]:
    lengths = [int(t) for t in _all_gather(torch.tensor([len(text)], device=device), group)]
    padded = _tensor(text.ljust(max(lengths), b"\0"), device)
    return [bytes(t.cpu().numpy())[:n] for t, n in zip(_all_gather(padded, group), lengths, strict=True)]


def _all_gather(t: Tensor, group: dist.ProcessGroup) -> list[Tensor]:
    out = [torch.empty_like(t) for _ in range(dist.get_world_size(group))]
    dist.all_gather(out, t, group=group)
    return out


def _tensor(raw: bytes, device: torch.device) -> Tensor:
    return torch.frombuffer(bytearray(raw), dtype=torch.uint8).to(device)

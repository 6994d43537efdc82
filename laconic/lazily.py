"""Exchanges in which a worker may be silent: what sync/lazy.py and sync/cmfl.py decide is said here.

Everyone's message, or none, in rank order: two rounds, lengths and then messages (core/exchange.py). All add up the
same messages in the same order, so replicas stay equal bit for bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from laconic.buckets import Bucket
from laconic.compress import letters
from laconic.core.exchange import Exchange, Exchanged, Turn, gather_ragged
from laconic.sync import CMFL, AbstractLazy, AbstractSync
from laconic.sync.cmfl import next_threshold, relevance
from laconic.sync.lazy import Seen

LONGEST_HEADER_BYTES = 4096


class Lazy(NamedTuple):
    uploaded: Tensor  # u of this worker
    mean: Tensor  # of all workers' u
    at: Tensor  # the model at the last upload, where that counts
    silent: Tensor  # steps since
    updates: Tensor  # |mean|^2 of the last steps, newest first; NaN: not yet


class Relevant(NamedTuple):
    last: Tensor  # the last mean way
    threshold: Tensor


def concerns(sync: AbstractSync) -> bool:
    return isinstance(sync, AbstractLazy | CMFL)


def fresh(sync: AbstractSync, bucket: Bucket) -> Any:
    zeros = torch.zeros_like(bucket.values())
    if isinstance(sync, CMFL):
        return Relevant(zeros, torch.tensor(sync.relevance, dtype=torch.float64))
    assert isinstance(sync, AbstractLazy), "see concerns()"
    past = torch.full((sync.memory,), torch.nan, dtype=torch.float64)
    at = zeros.clone() if sync.follows_model else zeros[:0]
    return Lazy(zeros, zeros.clone(), at, torch.zeros((), dtype=torch.int64), past)


def program(sync: AbstractSync, bucket: Bucket, x: Tensor, state: Any, turn: Turn) -> Exchange:
    if isinstance(sync, CMFL):
        return _relevant(sync, bucket, x, state, turn)
    assert isinstance(sync, AbstractLazy), "see concerns()"
    return _lazy(sync, bucket, x, state, turn)


async def _say(bucket: Bucket, x: Tensor | None, turn: Turn) -> tuple[Tensor, Tensor, int]:
    """The sum of what was said, what I said, and how many spoke. x None: silence."""
    desk = letters.alone(bucket.compress, bucket.spec, turn)
    silence = torch.empty(0, dtype=torch.uint8, device=bucket.device)
    message = silence if x is None else desk.write(x)
    most = desk.most or 8 * bucket.spec.numel + LONGEST_HEADER_BYTES
    heard = [m for m in await gather_ragged(message, most) if m.numel()]
    wide = torch.promote_types(bucket.spec.dtype, torch.float32)
    total = torch.zeros(bucket.spec.numel, dtype=wide, device=bucket.device)
    for m in heard:
        total.add_(desk.read(m))
    mine = torch.zeros_like(total) if x is None else desk.read(message).to(total.dtype)
    return total, mine, len(heard)


async def _lazy(sync: AbstractLazy, bucket: Bucket, x: Tensor, state: Lazy, turn: Turn) -> Exchanged:
    """x is my gradient times the bucket's weight: shares are added up, others averaged."""
    change, share = x - state.uploaded, 1.0 if bucket.plain else 1.0 / turn.world
    scale = (turn.world if bucket.plain else 1.0) ** 2  # of squared norms: weights do not count
    model = bucket.values() if sync.follows_model else state.at
    past = tuple(float(u) for u in state.updates if not u.isnan())
    seen = Seen(_square(change) * scale, _square(model - state.at), past, int(state.silent))
    speaks = sync.speaks(seen) or not past
    total, mine, _ = await _say(bucket, change if speaks else None, turn)
    mean = state.mean + (total * share).to(x.dtype)
    kept = Lazy(
        state.uploaded + mine.to(x.dtype),
        mean,
        model.clone() if speaks else state.at,
        torch.zeros_like(state.silent) if speaks else state.silent + 1,
        torch.cat([torch.tensor([_square(mean)], dtype=torch.float64), state.updates[:-1]]),
    )
    return Exchanged(mean.clone(), mine.to(x.dtype), kept)


async def _relevant(sync: CMFL, bucket: Bucket, x: Tensor, state: Relevant, turn: Turn) -> Exchanged:
    speaks = relevance(x, state.last) >= float(state.threshold)
    total, mine, spoke = await _say(bucket, x if speaks else None, turn)
    mean = total.mul_((turn.world if bucket.plain else 1) / max(1, spoke)).to(x.dtype)
    threshold = next_threshold(sync.relevance, float(state.threshold), spoke)
    kept = Relevant(mean.clone() if spoke else state.last, torch.tensor(threshold, dtype=torch.float64))
    return Exchanged(mean, mine.to(x.dtype), kept)


def _square(x: Tensor) -> float:
    return float(x.double().square().sum())

"""Ok-Topk: a sparse all-reduce in which every rank moves less than 6k words, however many there are.

    local     |x_i| >= t_local                                   about k elements of each rank
    deal      those in region r to rank r, which adds them up    regions hold equally many elements
    global    |sum_i| >= t_global                                about k elements of all ranks
    gather    the survivors, evenly spread over the ranks
    sent      x_i where i is in both selections                  so `ef(...)`, which it needs, conserves everything

Li, Hoefler, PPoPP 2022, arXiv:2201.07598. Thresholds are exact every `reuse` steps (the k-th largest local element;
the k-th largest of all sums, which are gathered then) and are used again in between, nudged where they leave less
than 3/4 k or more than 5/4 k elements. Borders of regions are the ranks' averaged quantiles, renewed every
`rebalance` steps. Differs: what a rank says and what all keep is cut to the 5/4 k largest, so the bound is
enforced; a local threshold that leaves nothing is found anew; survivors are spread (the step that the authors' code
has commented out) where a padded gather would cost twice as much. Indices have 32 bits (theirs: float32). What other
ranks find unimportant is not sent, so no rank promises a share of its own norm: delta = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress import indices
from laconic.compress.base import AbstractCompressor, Grain, Size, Traits, as_float32, back_to, kept
from laconic.compress.sparse import check_ascending, check_ratio
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PayloadError, PlanError
from laconic.core.exchange import Deal, Exchanged, Gather, Mean, Seat, Turn, deal_ragged, gather_ragged
from laconic.core.payload import HEADER_BYTES, Label, Part, method_tag, pack, unpack
from laconic.kernels import reference_sparse


class Sparse(NamedTuple):
    at: Tensor  # ascending
    values: Tensor


class Reused(NamedTuple):
    age: Tensor  # exchanges so far
    local: Tensor  # thresholds, float64
    over_all: Tensor
    borders: Tensor  # of the regions, one fewer than ranks


@dataclass(frozen=True)
class OkTopk(AbstractCompressor):
    """Balanced sparse reduce-scatter and gather of about the k largest sums."""

    ratio: float = 0.01
    reuse: int = 32
    rebalance: int = 64

    name: ClassVar[str] = "oktopk"
    paper: ClassVar[str] = "li2022near"

    def __post_init__(self) -> None:
        check_ratio(self)
        for what, steps in (("reuse", self.reuse), ("rebalance", self.rebalance)):
            if not isinstance(steps, int) or steps < 1:
                raise PlanError(f"oktopk({what}={steps!r}): a whole number of steps from 1 up.")

    @property
    def spares_small(self) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        # Five rounds in a step that finds thresholds; four or five in others.
        return Traits(False, None, 0.0, linear=False, rounds=5, grain=Grain.BUCKET, size=Size.MOST)

    def payload_bits(self, spec: BucketSpec) -> int:
        return 64 * min(spec.numel, _many(kept(self.ratio, spec.numel)))

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Reused:
        borders = torch.zeros(seat.world - 1, dtype=torch.int64)
        return Reused(torch.zeros((), dtype=torch.int64), _float64(0.0), _float64(0.0), borders)

    async def exchange(self, x: Tensor, state: Reused, spec: BucketSpec, turn: Turn) -> Exchanged:
        x32, post, age = as_float32(x), _Post(self, spec, turn), int(state.age)
        k, exact = kept(self.ratio, spec.numel), age % self.reuse == 0
        at, local = _locally(x32, k, None if exact else float(state.local))
        borders = state.borders
        if age % self.rebalance == 0:
            borders = _whole(await Mean(_quantiles(at, spec.numel, turn.world, x.device)), spec.numel)
        mine = await self._add_up(Sparse(at, x32[at] / turn.world), borders, post)
        if exact:
            told = await gather_ragged(post.write(mine), post.bytes_of(spec.numel))
            everything = post.join(told)
            best = reference_sparse.largest_nonzero(everything.values, k)
            final = Sparse(everything.at[best], everything.values[best])
            over_all = float(final.values.abs().min()) if best.numel() else 0.0
        else:
            final, n = await _survivors(mine, float(state.over_all), _many(k), post)
            over_all = _nudged(float(state.over_all), n, k)
        mean = torch.zeros_like(x32).index_copy_(0, *final)
        chosen = torch.zeros_like(x32, dtype=torch.bool).index_fill_(0, final.at, True)
        both = at[chosen[at]]
        sent = torch.zeros_like(x32).index_copy_(0, both, x32[both])
        kept_ = Reused(state.age + 1, _float64(local), _float64(over_all), borders)
        return Exchanged(back_to(x.dtype, mean), back_to(x.dtype, sent), kept_)

    async def _add_up(self, mine: Sparse, borders: Tensor, post: _Post) -> Sparse:
        """The sums of my region."""
        edges = [0, *borders.tolist(), post.numel]
        cuts = [0, *torch.searchsorted(mine.at, borders.to(mine.at.device)).tolist(), mine.at.numel()]
        pieces = tuple(post.write(_pick(mine, slice(a, b))) for a, b in pairwise(cuts))
        heard = await deal_ragged(pieces, post.bytes_of(post.numel))
        start, stop = edges[post.rank], edges[post.rank + 1]
        total = torch.zeros(stop - start, device=mine.values.device)
        for message in heard:  # in rank order
            piece = post.read(message, start, stop)
            total.index_add_(0, piece.at - start, piece.values)
        where = total.nonzero().view(-1)
        return Sparse(where + start, total[where])


async def _survivors(mine: Sparse, threshold: float, most: int, post: _Post) -> tuple[Sparse, int]:
    """What reaches the threshold on all ranks (`most` elements at most), and how many did."""
    mine = _pick(mine, reference_sparse.at_least(mine.values, threshold))
    counts = post.counts(await Gather(post.count(mine)))
    reached, total = sum(counts), min(sum(counts), most)
    if total < reached:  # every owner keeps its share, the largest
        counts = [c * total // reached for c in counts]
        total = sum(counts)
        mine = _pick(mine, kernel.largest(mine.values, counts[post.rank]))
    if max(counts) * post.world > 2 * total:
        mine, counts = await _spread(mine, counts, post)
    told = await Gather(post.write(mine), tuple(post.bytes_of(c) for c in counts))
    return post.join(told), reached


async def _spread(mine: Sparse, counts: list[int], post: _Post) -> tuple[Sparse, list[int]]:
    """The same elements in the same order, as evenly as they go; all ranks know who has how many."""
    held, wanted = _edges(counts), [sum(counts) * r // post.world for r in range(post.world + 1)]

    def shared(owner: int, heir: int) -> tuple[int, int]:
        a, b = max(held[owner], wanted[heir]), min(held[owner + 1], wanted[heir + 1])
        return a - held[owner], max(a, b) - held[owner]

    pieces = [_pick(mine, slice(*shared(post.rank, heir))) for heir in range(post.world)]
    spans = [shared(owner, post.rank) for owner in range(post.world)]
    lengths = tuple(post.bytes_of(b - a) for a, b in spans)
    heard = await Deal(tuple(post.write(piece) for piece in pieces), lengths)
    return post.join(heard), [b - a for a, b in pairwise(wanted)]


def _edges(counts: list[int]) -> list[int]:
    edges = [0]
    for count in counts:
        edges.append(edges[-1] + count)
    return edges


def _pick(sparse: Sparse, which: Tensor | slice) -> Sparse:
    return Sparse(sparse.at[which], sparse.values[which])


def _locally(x: Tensor, k: int, threshold: float | None) -> tuple[Tensor, float]:
    """(selected indices, threshold for the next step)"""
    at = x.new_empty(0) if threshold is None else reference_sparse.at_least(x, threshold)
    if threshold is None or not at.numel():
        at = reference_sparse.largest_nonzero(x, k)
        return at, float(x[at].abs().min()) if at.numel() else 0.0
    return reference_sparse.largest_among(x, at, _many(k)), _nudged(threshold, at.numel(), k)


def _many(k: int) -> int:
    return max(k, 5 * k // 4)


def _nudged(threshold: float, n: int, k: int) -> float:
    if 3 * k <= 4 * n <= 5 * k:
        return threshold
    if not n:
        return threshold / 2
    # Few elements lie far above a threshold that is reused: their number falls with about its eighth power.
    return threshold * min(1.25, max(0.8, math.pow(n / k, 0.125)))


def _float64(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def _quantiles(at: Tensor, numel: int, world: int, device: torch.device) -> Tensor:
    """Where a rank would cut to give every region as many of its elements."""
    parts = torch.arange(1, world, device=device)
    if at.numel() < world:
        return (parts * numel / world).to(torch.float64)
    return at[parts * at.numel() // world].to(torch.float64)


def _whole(mean: Tensor, numel: int) -> Tensor:
    # A mean of whole numbers may be a hair off; a shift that no such mean has keeps drivers on the same side.
    return (mean + 0.5 + 1e-6).floor().to(torch.int64).clamp(0, numel).cpu()


class _Post:
    """Writes and reads the messages of one exchange: indices and values; nothing at all for no elements."""

    def __init__(self, oktopk: OkTopk, spec: BucketSpec, turn: Turn) -> None:
        self.rank, self.world, self.numel = turn.rank, turn.world, spec.numel
        self.label = Label(method_tag(str(oktopk)), spec.id + 4096 * spec.part, turn.step, spec.numel)
        self.checksum = turn.seat.checksum

    def bytes_of(self, count: int) -> int:
        return HEADER_BYTES + sum(part.nbytes for part in self._layout(count))

    def _layout(self, count: int) -> tuple[Part, ...]:
        return Part(torch.float32, count), indices.part(self.numel, count)

    def write(self, sparse: Sparse) -> Tensor:
        parts = (sparse.values, indices.write(sparse.at, self.numel))
        return pack(self.label, sparse.at.numel(), parts, checksum=self.checksum)

    def read(self, message: Tensor, start: int, stop: int) -> Sparse:
        k, (values, stream) = unpack(message, self.label, lambda _, k: self._layout(k))
        at = indices.read(stream, k, self.numel).to(torch.int64)
        return Sparse(check_ascending(at - start, stop - start) + start, values)

    def join(self, messages: list[Tensor]) -> Sparse:
        pieces = [self.read(message, 0, self.numel) for message in messages]
        at = check_ascending(torch.cat([p.at for p in pieces]), self.numel)
        return Sparse(at, torch.cat([p.values for p in pieces]))

    def count(self, sparse: Sparse) -> Tensor:
        return torch.tensor([sparse.at.numel()], dtype=torch.int64, device=sparse.at.device).view(torch.uint8)

    def counts(self, told: list[Tensor]) -> list[int]:
        counts = [int(t.clone().view(torch.int64)) for t in told]
        if min(counts) < 0 or sum(counts) > self.numel:
            raise PayloadError(f"Ranks announce {counts} elements of {self.numel}: one of them was damaged on the way.")
        return counts

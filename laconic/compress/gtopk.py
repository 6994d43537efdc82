"""gTop-k: sparse vectors are merged in pairs, and after every merge only the k largest elements go on.

    s_i = top-k of x_i;   log2(n) rounds:  s <- top-k of (s + partner's s);   mean = s / n

Shi et al., ICDCS 2019, arXiv:1901.04359. Traffic grows with log n instead of n: k elements a round. Conserving: the
paper puts back what is not in the final result and loses what was dropped at a merge while its index survived
elsewhere; here one rank of the pair's group (in turn, by step) reports what a merge dropped as not sent, so that
nothing is lost under `ef(...)`, which it needs. That rank's residual holds what others found: alone it contracts by
k/n, among many no rank promises a share of its own norm (delta = 0). Differs also: both partners merge (a butterfly),
so the result needs no broadcast; a world that is no power of two folds its last ranks into the first ones before and
tells them after.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress import indices
from laconic.compress.base import AbstractCompressor, Grain, Traits, as_float32, back_to, kept
from laconic.compress.sparse import check_ratio
from laconic.core.bucket import BucketSpec
from laconic.core.exchange import Exchanged, Swap, Turn
from laconic.core.payload import HEADER_BYTES, Label, Part, method_tag, pack, unpack

Sparse = tuple[Tensor, Tensor]  # sorted indices, values; k of them


@dataclass(frozen=True)
class GTopK(AbstractCompressor):
    """Merge top-k vectors in pairs, keep the k largest of each merge."""

    ratio: float = 0.01

    name: ClassVar[str] = "gtopk"
    paper: ClassVar[str] = "shi2019distributed"

    def __post_init__(self) -> None:
        check_ratio(self)

    @property
    def spares_small(self) -> bool:
        return True

    def traits(self, spec: BucketSpec) -> Traits:
        # Rounds of a world of one: the folds. Each doubling of the world adds one.
        return Traits(unbiased=False, omega=None, delta=0.0, linear=False, rounds=2, grain=Grain.BUCKET)

    def payload_bits(self, spec: BucketSpec) -> int:
        k = kept(self.ratio, spec.numel)
        return 32 * k + 8 * indices.part(spec.numel, k).nbytes

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        x32, post = as_float32(x), _Post(self, spec, turn)
        at = kernel.largest(x32, post.k)
        sent = torch.zeros_like(x32).index_copy_(0, at, x32[at])
        merged = (at, x32[at] / turn.world)
        for stage in _stages(turn.rank, turn.world):
            message = post.write(merged) if stage.speaks else x32.new_empty(0, dtype=torch.uint8)
            heard = await Swap(message, stage.peers, (post.length if stage.hears else 0,) * len(stage.peers))
            if not stage.hears:
                continue
            theirs = post.read(heard[0])
            if not stage.merges:
                merged = theirs
                continue
            merged, (where, dropped) = _merge(merged, theirs, post.k)
            if turn.rank % stage.group == turn.number % stage.group:
                sent.index_add_(0, where, dropped, alpha=-float(turn.world))
        mean = torch.zeros_like(x32).index_copy_(0, *merged)
        return Exchanged(back_to(x.dtype, mean), back_to(x.dtype, sent), state)


@dataclass(frozen=True)
class _Stage:
    """One swap as a rank takes part in it."""

    peers: tuple[int, ...] = ()
    speaks: bool = False
    hears: bool = False
    merges: bool = False
    group: int = 1  # ranks that hold the same sum after the merge


def _stages(rank: int, world: int) -> list[_Stage]:
    """Fold the ranks beyond the largest power of two, merge in pairs, tell the folded ones."""
    core = 1 << (world.bit_length() - 1)
    folded, partner = rank >= core, rank - core if rank >= core else rank + core
    if folded:
        pairs = [_Stage()] * (core.bit_length() - 1)
        return [_Stage((partner,), speaks=True), *pairs, _Stage((partner,), hears=True)]
    host = partner < world
    first = _Stage((partner,), hears=True, merges=True) if host else _Stage()
    pairs = [
        _Stage((rank ^ 1 << j,), speaks=True, hears=True, merges=True, group=2 << j)
        for j in range(core.bit_length() - 1)
    ]
    return [first, *pairs, _Stage((partner,), speaks=True) if host else _Stage()]


def _merge(a: Sparse, b: Sparse, k: int) -> tuple[Sparse, Sparse]:
    """(the k largest of the sum, the rest); a + b and b + a give the same bits."""
    where, slot = torch.unique(torch.cat([a[0], b[0]]), return_inverse=True)
    total = torch.zeros(where.numel(), device=where.device).index_add_(0, slot, torch.cat([a[1], b[1]]))
    stays = torch.zeros(where.numel(), dtype=torch.bool, device=where.device)
    stays[kernel.largest(total, k)] = True
    return (where[stays], total[stays]), (where[~stays], total[~stays])


class _Post:
    """Writes and reads the messages of one exchange."""

    def __init__(self, gtopk: GTopK, spec: BucketSpec, turn: Turn) -> None:
        self.k, self.numel = kept(gtopk.ratio, spec.numel), spec.numel
        self.label = Label(method_tag(str(gtopk)), spec.id + 4096 * spec.part, turn.step, spec.numel)
        self.checksum = turn.seat.checksum
        self.layout = (Part(torch.float32, self.k), indices.part(self.numel, self.k))
        self.length = HEADER_BYTES + sum(part.nbytes for part in self.layout)

    def write(self, sparse: Sparse) -> Tensor:
        at, values = sparse
        return pack(self.label, self.k, (values, indices.write(at, self.numel)), checksum=self.checksum)

    def read(self, message: Tensor) -> Sparse:
        _, (values, stream) = unpack(message, self.label, lambda *_: self.layout)
        return indices.read(stream, self.k, self.numel).to(torch.int64), values

"""The exact mean of sparse vectors: every rank owns a chunk, adds up what the others say of it, and tells the sum.

    deal     to the owner of chunk r: which slots of my vector in chunk r are not zero, and their values
    gather   from every owner: which slots of the mean are not zero, and their values

Both in the shortest form (`sparse_form.py`): where supports overlap little the sum grows dense, and at equal bytes
the message is written dense. Nothing is rounded or dropped on the way, so what a rank sent is what its compressor
kept, and no owner has an error to remember. Against a gather each rank hears the union once instead of n messages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress import sparse_form
from laconic.compress.base import NOMINAL, AbstractCompressor, Draw, Grain, Size, Traits, as_float32, back_to
from laconic.compress.identity import Identity
from laconic.compress.one_shot import AbstractOneShot, chunks
from laconic.core.bucket import BucketSpec
from laconic.core.errors import PlanError
from laconic.core.exchange import Exchanged, Router, Turn, deal_ragged, gather_ragged
from laconic.core.payload import HEADER_BYTES, Label, method_tag, pack, unpack


class AbstractSparseAllReduce(AbstractCompressor, ABC):
    """Concrete classes have `inner`, and write `width` and `most`."""

    inner: AbstractCompressor

    def __post_init__(self) -> None:
        if isinstance(self.inner, Identity):
            return
        sparse = isinstance(self.inner, AbstractOneShot) and self.inner.sparse
        if not sparse or self.inner.traits(NOMINAL).remembers:
            raise PlanError(
                f"{self.name}({self.inner}): it carries what a sparsifier without a memory of its own keeps, or 'none' "
                f"for a gradient that is sparse by itself. Use for example {self.name}(topk(0.01))."
            )

    @property
    @abstractmethod
    def width(self) -> int:
        """Elements a slot."""

    @abstractmethod
    def most(self, numel: int) -> int:
        """How many slots a rank says at most."""

    @property
    def routed(self) -> bool:
        return False

    @property
    def spares_small(self) -> bool:
        return self.inner.spares_small

    def gathers(self, router: Router, world: int) -> bool:
        return False

    def traits(self, spec: BucketSpec) -> Traits:
        inner = self.inner.traits(spec)
        return replace(inner, linear=False, rounds=4, grain=Grain.BUCKET, size=Size.MOST)

    def payload_bits(self, spec: BucketSpec) -> int:
        return 8 * sparse_form.nbytes(-(-spec.numel // self.width), self.most(spec.numel), self.width)

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        sent = self._keep(as_float32(x), spec, turn)
        cuts = chunks(spec.numel, turn.world, self.width)
        post = _Post(self, spec, turn)
        longest = HEADER_BYTES + 4 * self.width * -(-max(b - a for a, b in cuts) // self.width)
        heard = await deal_ragged(tuple(post.write(sent[a:b], r) for r, (a, b) in enumerate(cuts)), longest)
        start, stop = cuts[turn.rank]
        mine = post.add(heard, stop - start, [turn.rank] * turn.world, 1 / turn.world)
        told = await gather_ragged(post.write(mine, turn.world + turn.rank), longest)
        pieces = [
            post.add([message], b - a, [turn.world + r], 1.0)
            for r, (message, (a, b)) in enumerate(zip(told, cuts, strict=True))
        ]
        return Exchanged(back_to(x.dtype, torch.cat(pieces)), back_to(x.dtype, sent), state)

    def _keep(self, x: Tensor, spec: BucketSpec, turn: Turn) -> Tensor:
        if not isinstance(self.inner, AbstractOneShot):
            return x.clone()
        draw = Draw(turn.own(spec), turn.shared(spec))
        aux, parts = self.inner.encode(x, draw)
        return self.inner.decode(parts, x.numel(), aux, draw)


class _Post:
    """Writes chunks as sparse messages and adds them up again; `salt` tells the chunks apart."""

    def __init__(self, compressor: AbstractSparseAllReduce, spec: BucketSpec, turn: Turn) -> None:
        self.width = compressor.width
        self.tag = method_tag(str(compressor))
        self.place = (spec.id + 4096 * spec.part, turn.step)
        self.checksum = turn.seat.checksum

    def _label(self, numel: int, salt: int) -> Label:
        return Label(self.tag + salt, *self.place, numel)

    def _slots(self, numel: int) -> int:
        return -(-numel // self.width)

    def write(self, x: Tensor, salt: int) -> Tensor:
        rows = kernel.blocks(x, self.width)
        at = (rows != 0).any(dim=1).nonzero().view(-1)
        parts = sparse_form.write(at, rows[at], rows.shape[0])
        return pack(self._label(x.numel(), salt), at.numel(), parts, checksum=self.checksum)

    def add(self, messages: list[Tensor], numel: int, salts: list[int], weight: float) -> Tensor:
        """In the order given: the same sum on every rank, bit for bit."""
        slots = self._slots(numel)
        total = torch.zeros(slots, self.width, device=messages[0].device)
        for message, salt in zip(messages, salts, strict=True):
            k, parts = unpack(
                message, self._label(numel, salt), lambda _, aux: sparse_form.layout(slots, aux, self.width)
            )
            at, rows = sparse_form.read(parts, slots, k, self.width)
            total.index_add_(0, at, rows, alpha=weight)
        return total.view(-1)[:numel]

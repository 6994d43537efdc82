"""The exchange most of the literature needs, written once: encode, route, decode, average.

    gather   mean = 1/n sum_r D(message_r)                    everyone decodes everyone
    deal     rank r owns chunk r:  q_r = 1/n sum_i D(message_i,r) + E_r
             everyone applies D(C(q_r)), its owner too, or replicas drift;  E_r <- q_r - D(C(q_r))
    server   as deal, where servers own the chunks and keep E (compress/served.py)

The second error E is kept only inside an error memory (DoubleSqueeze, Tang et al., ICML 2019,
arXiv:1905.05957); without one an owner keeps nothing, as the user asked. Like the memory around it, E needs a
contraction: where C is none, everyone applies d D(C(q_r)) and E_r <- q_r - d D(C(q_r)), d = 1/(1 + omega).
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from laconic import kernels as kernel
from laconic.compress.base import AbstractCodec, AbstractCompressor, Draw, Entries, as_float32, back_to
from laconic.core import memory
from laconic.core.bucket import BucketSpec, one_tensor
from laconic.core.exchange import Deal, Exchanged, Gather, Route, Router, Seat, Turn, deal_ragged, gather_ragged
from laconic.core.payload import HEADER_BYTES, Label, method_tag, pack, unpack

LARGE = 1e38


class Owned(NamedTuple):
    error: Tensor  # E of my chunk; empty where nothing is remembered; on the server route a ticket for it
    damping: Tensor  # d, a float on the CPU; every rank's, also where its own chunk is empty


class AbstractOneShot(AbstractCompressor, AbstractCodec, ABC):
    """Concrete classes write `layout`, `encode`, `decode`, `traits`; the exchange is final."""

    sparse: ClassVar[bool] = False
    checked: ClassVar[bool] = False  # do messages carry a checksum, whatever the run asks for?

    @property
    def align(self) -> int:
        """Chunks start at multiples of this, so that no block is cut in two."""
        return 1

    @property
    def varies(self) -> bool:
        """Does the length of a message depend on data or chance? Then lengths are said first."""
        return False

    @property
    def dialect(self) -> str:
        """What writer and reader must agree on; a message of another dialect is refused."""
        return str(self)

    @property
    def routed(self) -> bool:
        return True

    def gathers(self, router: Router, world: int) -> bool:
        return not self.routed or router.route(self.sparse, world) is Route.GATHER

    @property
    def spares_small(self) -> bool:
        return True

    def payload_bits(self, spec: BucketSpec) -> int:
        return 8 * self.message_bytes(spec.numel) - 8 * HEADER_BYTES

    def message_bytes(self, numel: int, aux: int = 0) -> int:
        return HEADER_BYTES + sum(part.nbytes for part in self.layout(numel, aux))

    def most_bytes(self, numel: int) -> int:
        """The longest message that can stand for so many elements."""
        return HEADER_BYTES + -(-self.payload_bits(one_tensor(numel)) // 8)

    def init(self, spec: BucketSpec, seat: Seat, *, remember: bool = False) -> Any:
        route = seat.router.route(self.sparse, seat.world)
        if route is Route.SERVER:
            from laconic.compress.served import start as start_served

            return start_served(self, spec, remember=remember)
        deals = route is Route.DEAL
        start, stop = chunks(spec.numel, seat.world, self.align)[seat.rank]
        remembers = deals and remember
        size = stop - start if remembers else 0
        damping = self.traits(spec).damping if remembers else 1.0
        return Owned(torch.zeros(size, device=seat.device), torch.tensor(damping))

    async def exchange(self, x: Tensor, state: Any, spec: BucketSpec, turn: Turn) -> Exchanged:
        out = await self._say(as_float32(x), None, state, spec, turn)
        return out._replace(mean=back_to(x.dtype, out.mean), sent=lambda: back_to(x.dtype, out.sent))

    async def remember(
        self, x: Tensor, residual: Tensor, damping: float, state: Any, spec: BucketSpec, turn: Turn
    ) -> tuple[Exchanged, Tensor]:
        if residual.dtype != torch.float32 or type(self).exchange is not AbstractOneShot.exchange:
            return await super().remember(x, residual, damping, state, spec, turn)
        added = residual.numel() < x.numel()  # x is the sum already
        left = x if added else memory.empty(x.numel(), torch.float32, x.device)
        keeping = Keeping(residual, left, damping)
        return await self._say(as_float32(x), keeping, state, spec, turn), left

    async def _say(self, x: Tensor, keep: Keeping | None, state: Owned, spec: BucketSpec, turn: Turn) -> Exchanged:
        route = turn.seat.router.route(self.sparse, turn.world)
        if route is Route.GATHER:
            return await self._gather(x, keep, state, spec, turn)
        if route is Route.SERVER:
            from laconic.compress.served import serve

            return await serve(self, x, keep, state, spec, turn)
        return await self._deal(x, keep, state, spec, turn)

    async def _gather(self, x: Tensor, keep: Keeping | None, state: Owned, spec: BucketSpec, turn: Turn) -> Exchanged:
        desk = Desk(self, spec, turn)
        mine = desk.write(x, 0, keep)
        messages = await (gather_ragged(mine, self.most_bytes(x.numel())) if self.varies else Gather(mine))
        damping = keep.damping if keep else 1.0
        mean = memory.empty(x.numel(), device=x.device)
        desk.average(messages, mean, 0, damping)
        sent = [(messages[turn.rank], x.numel(), 0)]
        return Exchanged(mean, lambda: desk.read(sent, mean, damping), state, finite=desk.finite)

    async def _deal(self, x: Tensor, keep: Keeping | None, state: Owned, spec: BucketSpec, turn: Turn) -> Exchanged:
        desk, n = Desk(self, spec, turn), turn.world
        cuts = chunks(x.numel(), n, self.align)
        mine = [desk.write(x[a:b], r, keep and keep.part(a, b)) for r, (a, b) in enumerate(cuts)]
        sizes = [b - a for a, b in cuts]
        most = self.most_bytes(max(sizes)) if self.varies else 0
        received = await (deal_ragged(tuple(mine), most) if self.varies else Deal(tuple(mine)))
        a, b = cuts[turn.rank]
        q = torch.empty(b - a, device=x.device)
        desk.average(received, q, turn.rank, 1.0)
        error, again = state.error, float(state.damping)
        owner = Keeping(error, torch.empty_like(error), again) if error.numel() else None
        reply = desk.write(q, n + turn.rank, owner)
        lengths = () if self.varies else tuple(self.message_bytes(size) for size in sizes)
        replies = await (gather_ragged(reply, most) if self.varies else Gather(reply, lengths))
        damping = keep.damping if keep else 1.0
        mean = desk.read(list(zip(replies, sizes, range(n, 2 * n), strict=True)), x, again * damping)
        sent = list(zip(mine, sizes, range(n), strict=True))
        kept = Owned(owner.left if owner else error, state.damping)
        return Exchanged(mean, lambda: desk.read(sent, mean, damping), kept, finite=desk.finite)


class Keeping(NamedTuple):
    """An error memory while its exchange is under way: what it held, what it will hold, and its damping."""

    residual: Tensor
    left: Tensor
    damping: float

    def part(self, start: int, stop: int) -> Keeping:
        return Keeping(self.residual[start:stop], self.left[start:stop], self.damping)


class Desk:
    """Where messages of one exchange are written and read; `salt` tells its chunks apart."""

    def __init__(self, codec: AbstractOneShot, spec: BucketSpec, turn: Turn) -> None:
        self.codec = codec
        self.checksum = turn.seat.checksum or codec.checked
        self.draw = Draw(turn.own(spec), turn.shared(spec))
        self.tag = method_tag(codec.dialect)
        self.place = (spec.id + 4096 * spec.part, turn.step)
        self.finite = codec.bounded  # so far: all that was read

    def _label(self, numel: int, salt: int) -> Label:
        return Label(self.tag + salt, *self.place, numel)

    def write(self, x: Tensor, salt: int, keep: Keeping | None = None) -> Tensor:
        draw = self.draw.child(salt)
        aux, parts = self.codec.encode_keep(x, *keep, draw) if keep else self.codec.encode(x, draw)
        return pack(self._label(x.numel(), salt), aux, parts, checksum=self.checksum)

    def _parts(self, message: Tensor, label: Label) -> tuple[int, tuple[Tensor, ...]]:
        aux, parts = unpack(message, label, self.codec.layout)
        self.finite = self.finite and all(_is_moderate(part) for part in parts if part.is_floating_point())
        return aux, parts

    def read(self, messages: Sequence[tuple[Tensor, int, int]], like: Tensor, weight: float) -> Tensor:
        """Messages (of so many elements, with that salt) one after the other, as one vector times `weight`."""
        out, at = memory.empty(sum(size for _, size, _ in messages), device=like.device), 0
        for message, size, salt in messages:
            aux, parts = self._parts(message, self._label(size, salt))
            self.codec.put(out[at : at + size], parts, aux, self.draw.child(salt), weight)
            at += size
        return out

    def average(self, messages: list[Tensor], out: Tensor, salt: int, weight: float) -> None:
        """out <- weight times the mean of what these messages say."""
        label, draw, share = self._label(out.numel(), salt), self.draw.child(salt), weight / len(messages)
        told = (self._parts(message, label) for message in messages)  # in rank order: on every rank the same sum
        aux, parts = next(told)
        first = self.codec.entries(parts, out.numel(), aux, draw)
        if first is not None:
            _merge(out, [first, *(self.codec.entries(parts, out.numel(), aux, draw) for aux, parts in told)], share)
            return
        self.codec.put(out, parts, aux, draw, share)
        for aux, parts in told:
            self.codec.add(out, parts, aux, draw, share)


def _merge(out: Tensor, told: Sequence[Entries | None], share: float) -> None:
    sparse = [s for s in told if s is not None]
    assert len(sparse) == len(told), "a codec writes all its messages in one form"
    (factor,) = {s.factor for s in sparse}  # of a codec and a size, so all have the same
    kernel.merge(out, [s.at for s in sparse], [s.values for s in sparse], share * factor)


def _is_moderate(part: Tensor) -> bool:
    """Finite, and far enough from infinity for any rounding."""
    return not part.numel() or bool(part.abs().max() < LARGE)


def chunks(numel: int, n: int, align: int) -> list[tuple[int, int]]:
    """n consecutive ranges that cover numel, as equal as whole blocks allow; some may be empty."""
    count = -(-numel // align)
    edges = [min(numel, align * (count * r // n)) for r in range(n)] + [numel]
    return list(pairwise(edges))
